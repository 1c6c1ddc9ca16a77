import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { idGenerator } from './id-generator.ts';
import { recordSpan, traceHeaders, withTrace, type FinishedSpan } from './spans.ts';
import { callSpanId, newSpanId, newTraceContext, parseTraceparent, runSpanId, thoughtSpanId } from './trace-context.ts';

const exporter = new InMemorySpanExporter();

beforeAll(() => {
  const provider = new TracerProvider({ idGenerator, spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
beforeEach(() => exporter.reset());

const base: Omit<FinishedSpan, 'trace'> = {
  name: 'chat small',
  kind: 'client',
  startedAtMs: 1_000_000_000_123,
  endedAtMs: 1_000_000_000_456,
  attributes: { 'pawl.purpose': 'think' },
};
const finished = () => exporter.getFinishedSpans();

describe('recordSpan', () => {
  test('reports exactly the given ids, times and attributes', () => {
    const { traceId } = newTraceContext();
    const ids = { traceId, spanId: thoughtSpanId('run_1', 0), parentSpanId: runSpanId('run_1') };
    recordSpan({ ...base, trace: { ...ids, isSampled: true }, error: { type: 'timeout', message: 'too late' } });
    const [span] = finished();
    expect(span?.spanContext()).toMatchObject({ traceId: ids.traceId, spanId: ids.spanId });
    expect(span?.parentSpanContext?.spanId).toBe(ids.parentSpanId);
    expect(span?.startTime).toEqual([1_000_000_000, 123_000_000]);
    expect(span?.endTime).toEqual([1_000_000_000, 456_000_000]);
    expect(span?.attributes).toMatchObject({ 'pawl.purpose': 'think', 'error.type': 'timeout' });
    expect(span?.status).toEqual({ code: 2, message: 'too late' });
  });

  test('a span without a parent is a root with the given trace id, whatever is active', async () => {
    const { traceId } = newTraceContext();
    const spanId = runSpanId('run_2');
    await withTrace(newTraceContext(), async () =>
      recordSpan({ ...base, trace: { traceId, spanId, isSampled: true } }),
    );
    expect(finished()[0]?.spanContext()).toMatchObject({ traceId, spanId });
    expect(finished()[0]?.parentSpanContext).toBeUndefined();
  });

  test('recorded twice, it has the same ids twice; other spans keep random ones', () => {
    const { traceId } = newTraceContext();
    const span = {
      ...base,
      trace: { traceId, spanId: callSpanId('run_1', 0, 1), parentSpanId: newSpanId(), isSampled: true },
    };
    recordSpan(span);
    trace.getTracer('other').startSpan('other').end();
    recordSpan(span);
    const ids = finished().map((one) => one.spanContext().spanId);
    expect(ids[0]).toBe(ids[2]);
    expect(ids[1]).not.toBe(ids[0]);
  });

  test('what was not sampled is not reported', () => {
    recordSpan({ ...base, trace: { ...newTraceContext(), isSampled: false } });
    expect(finished()).toEqual([]);
  });
});

describe('withTrace', () => {
  test('what starts inside hangs under the given span, also after waiting; nothing leaks out', async () => {
    const parent = newTraceContext();
    const result = await withTrace(parent, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      trace.getTracer('http').startSpan('GET').end();
      return traceHeaders(parent);
    });
    trace.getTracer('http').startSpan('outside').end();
    const [inside, outside] = finished();
    expect(inside?.spanContext().traceId).toBe(parent.traceId);
    expect(inside?.parentSpanContext?.spanId).toBe(parent.spanId);
    expect(outside?.spanContext().traceId).not.toBe(parent.traceId);
    expect(result).toEqual({});
    expect(parseTraceparent(traceHeaders(parent)['traceparent'])).toEqual(parent);
  });

  test('an unsampled parent keeps what is inside from being reported', async () => {
    await withTrace({ ...newTraceContext(), isSampled: false }, async () => {
      trace.getTracer('http').startSpan('GET').end();
    });
    expect(finished()).toEqual([]);
  });
});
