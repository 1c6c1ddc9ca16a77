/** The TypeScript client of Pawl's HTTP API. */
export { createClient, type ClientOptions, type PawlClient, type StoredObject } from './client.ts';
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
