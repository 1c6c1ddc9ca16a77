/**
 * W3C trace context and the span ids of a run. The ids of a run's own spans follow from the run's id,
 * so a redelivered message reports the same span again instead of a second one.
 * Source: W3C Trace Context, https://www.w3.org/TR/trace-context/
 */
import { hash } from 'node:crypto';
import { randomHex } from './random-hex.ts';

/** Where a child hangs: `traceId` (32 hex digits) and `spanId` (16 hex digits) of its parent. */
export type TraceContext = { traceId: string; spanId: string; isSampled: boolean };

/** A fresh trace with a random parent span id. */
export function newTraceContext(): TraceContext {
  return { traceId: randomHex(16), spanId: newSpanId(), isSampled: true };
}

/** A random span id: 16 hex digits. */
export function newSpanId(): string {
  return randomHex(8);
}

/** Reads a `traceparent` header; undefined when there is none or it is malformed. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text ?? '');
  const [, version, traceId, spanId, flags, rest] = match ?? [];
  if (!version || !traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The `traceparent` header of a context. */
export function formatTraceparent(context: TraceContext): string {
  return `00-${context.traceId}-${context.spanId}-${context.isSampled ? '01' : '00'}`;
}

/** The span `invoke_agent` of a run. */
export function runSpanId(runId: string): string {
  return spanIdOf(runId);
}

/** The span `chat` of a run's m-th model call. */
export function thoughtSpanId(runId: string, m: number): string {
  return spanIdOf(`${runId} ${m}`);
}

/** The span `execute_tool` of the i-th call of thought m. */
export function callSpanId(runId: string, m: number, i: number): string {
  return spanIdOf(`${runId} ${m} ${i}`);
}

function spanIdOf(name: string): string {
  return hash('sha256', name).slice(0, 16);
}
