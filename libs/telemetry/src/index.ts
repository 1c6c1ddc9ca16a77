/** Traces: context on the wire, deterministic span ids, names, and the SDK when it is wanted. */
export { attributes } from './names.ts';
export { outsideTraces, recordSpan, traceHeaders, withTrace, type FinishedSpan } from './spans.ts';
export { telemetryConfig } from './config.ts';
export { startTelemetry, type Telemetry } from './start.ts';
export { idGenerator } from './id-generator.ts';
export {
  callSpanId,
  formatTraceparent,
  newSpanId,
  newTraceContext,
  parseTraceparent,
  runSpanId,
  thoughtSpanId,
  type TraceContext,
} from './trace-context.ts';
