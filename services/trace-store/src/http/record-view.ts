/** A record as the traces API shows it, as JSON text: the body is put in as it was stored, digit for digit. */
import type { ArrangedRecord } from '../otlp/arrange-spans.ts';

/** JSON text of one record. A body that is too large for a list is named by `bodyRef` instead. */
export function renderRecord(
  record: ArrangedRecord,
  story: { step: number | undefined; traceId: string | null },
): string {
  const head = JSON.stringify({
    seq: record.sequence,
    slot: record.slot,
    kind: record.kind,
    step: record.step ?? story.step ?? null,
    ...optional('m', record.m),
    ...optional('i', record.i),
    ...optional('purpose', record.purpose),
    ...optional('callId', record.callId),
    ...optional('tool', record.tool),
    ...optional('status', record.status),
    at: record.at,
    startedAt: record.startedAt,
    durationMs: record.durationMs,
    traceId: record.traceId ?? story.traceId,
    spanId: record.spanId,
    ...optional('parentSpanId', record.parentSpanId),
    ...(record.isOrphan ? { isOrphan: true } : {}),
    ...(record.isRepeat ? { isRepeat: true } : {}),
    ...optional('model', record.model),
    ...(record.inputTokens === null ? {} : { tokens: { input: record.inputTokens, output: record.outputTokens ?? 0 } }),
    ...optional('costNanoUsd', record.costNanoUsd),
    ...(record.marks.length > 0 ? { marks: record.marks } : {}),
  });
  const body = record.body === null ? `"bodyRef":${JSON.stringify(bodyPath(record))}` : `"body":${record.body}`;
  return `${head.slice(0, -1)},${body}}`;
}

/** Where the body of a record is on its own. */
export function bodyPath(record: { runId: string; slot: string; storedSlot?: string }): string {
  const slot = record.storedSlot ?? record.slot;
  return `/v1/traces/${encodeURIComponent(record.runId)}/records/${encodeURIComponent(slot)}`;
}

function optional<K extends string, V>(key: K, value: V | null): Partial<Record<K, V>> {
  return value === null ? {} : ({ [key]: value } as Record<K, V>);
}
