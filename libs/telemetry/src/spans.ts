/**
 * Writing spans whose ids are known beforehand. With no SDK started, the OpenTelemetry API hands out
 * no-op tracers and nothing here does any work.
 */
import {
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Tracer,
} from '@opentelemetry/api';
import { idsForNextSpan } from './id-generator.ts';
import { schemaUrl } from './names.ts';
import { formatTraceparent, newSpanId, type TraceContext } from './trace-context.ts';

export type FinishedSpan = {
  name: string;
  kind: 'internal' | 'client' | 'producer' | 'consumer';
  /** Without `spanId` it gets a random one. */
  trace: { traceId: string; spanId?: string; parentSpanId?: string | undefined; isSampled: boolean };
  /** Unix time in milliseconds. */
  startedAtMs: number;
  endedAtMs: number;
  attributes: Attributes;
  /** What went wrong; marks the span as failed. */
  error?: { type: string; message: string } | undefined;
};

const kinds = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Reports a span that has already ended, under exactly the given ids. Without an exporter it does nothing. */
export function recordSpan(span: FinishedSpan): void {
  const tracer = span.trace.isSampled && startedTracer();
  if (!tracer) return;
  const { traceId, spanId = newSpanId(), parentSpanId } = span.trace;
  const parent = parentSpanId
    ? contextOf({ traceId, spanId: parentSpanId, isSampled: true })
    : trace.deleteSpan(context.active());
  const { name, startedAtMs: startTime, attributes } = span;
  const recorded = idsForNextSpan({ traceId, spanId }, () =>
    tracer.startSpan(name, { kind: kinds[span.kind], startTime, attributes }, parent),
  );
  if (span.error) {
    recorded.setAttribute('error.type', span.error.type);
    recorded.setStatus({ code: SpanStatusCode.ERROR, message: span.error.message });
  }
  recorded.end(span.endedAtMs);
}

/** Undefined while no SDK has been started. */
function startedTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return provider.getTracer('pawl', undefined, { schemaUrl });
  return provider.getDelegateTracer('pawl', undefined, { schemaUrl });
}

/** Runs `body` with `parent` as the active span, so that what instrumented libraries report hangs under it. */
export function withTrace<T>(parent: TraceContext, body: () => Promise<T>): Promise<T> {
  return context.with(contextOf(parent), body);
}

/** Runs `body` in no trace: for what is done for several callers together. */
export function outsideTraces<T>(body: () => T): T {
  return context.with(ROOT_CONTEXT, body);
}

/**
 * Headers that carry `parent` over HTTP. Empty while the SDK runs within `withTrace`: its instrumentation writes them itself,
 * and a request must not carry two.
 */
export function traceHeaders(parent: TraceContext): Record<string, string> {
  return trace.getSpanContext(context.active()) ? {} : { traceparent: formatTraceparent(parent) };
}

function contextOf(parent: TraceContext): Context {
  return trace.setSpanContext(context.active(), {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.isSampled ? 1 : 0,
    isRemote: true,
  });
}
