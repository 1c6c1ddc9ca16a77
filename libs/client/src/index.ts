/** The TypeScript client of Pawl's HTTP API. */
export { createClient, type ClientOptions, type FollowOptions, type PawlClient } from './client.ts';
export type { ApprovalDecision, CreatedKey, RunSignal, SpendReport, StoredObject, ToolResult } from './answers.ts';
export type { EventsOptions, RunEvent } from './run-events.ts';
export { PawlError } from './pawl-error.ts';
export {
  defineTool,
  ToolRefusal,
  type ServeOptions,
  type ToolCallContext,
  type ToolWorker,
  type ToolWorkerDefinition,
} from './define-tool.ts';
