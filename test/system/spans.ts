/** Collects every span that this process reports, with the SDK's in-memory exporter. */
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { idGenerator } from '@pawl/telemetry';

/** Starts collecting, for the rest of the process. */
export function collectSpans(): { ofTrace(traceId: string): ReadableSpan[] } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ idGenerator, spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return {
    ofTrace: (traceId) => exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId),
  };
}
