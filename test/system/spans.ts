/** Collects every span that this process reports, with the SDK's in-memory exporter, HTTP clients included. */
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { idGenerator } from '@pawl/telemetry';

/** Starts collecting, for the rest of the process. */
export function collectSpans(): { ofTrace(traceId: string): ReadableSpan[] } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ idGenerator, spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  registerInstrumentations({ instrumentations: [new UndiciInstrumentation()] });
  return {
    ofTrace: (traceId) => exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId),
  };
}
