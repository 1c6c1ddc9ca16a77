/** The TypeScript client of Pawl's HTTP API, and workers for its tools. */
export {
  defineTool,
  ToolRefusal,
  type ServeOptions,
  type ToolCallContext,
  type ToolWorker,
  type ToolWorkerDefinition,
} from './define-tool.ts';
