/** A span as it came, whatever the encoding: ids in lower-case hex, times in Unix nanoseconds. */

/** Values of attributes: text, numbers, booleans, lists and maps of them. 64-bit integers beyond 2^53 are text. */
export type AttributeValue = string | number | boolean | null | AttributeValue[] | { [key: string]: AttributeValue };
export type Attributes = { [key: string]: AttributeValue };

export type SpanEvent = { name: string; atNano: bigint; attributes: Attributes };

export type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  startNano: bigint;
  endNano: bigint;
  attributes: Attributes;
  events: SpanEvent[];
  /** 0 unset, 1 ok, 2 error. */
  statusCode: number;
  statusMessage: string;
  /** What the span's process says of itself. */
  resource: Attributes;
};

/** What a request held: spans, and how many could not be read, with the first reason. */
export type ReceivedSpans = { spans: OtlpSpan[]; rejected: number; reason: string | null };

/** How deep values may nest. */
export const VALUE_DEPTH_MAX = 64;

/** Adds a span that `read` gives; what it throws counts as one that could not be read. */
export function collectSpan(received: ReceivedSpans, read: () => OtlpSpan): void {
  try {
    const span = read();
    const mistake = mistakeOf(span);
    if (mistake === undefined) received.spans.push(span);
    else reject(received, mistake);
  } catch {
    reject(received, 'a span could not be read');
  }
}

function reject(received: ReceivedSpans, reason: string): void {
  received.rejected += 1;
  received.reason ??= reason;
}

function mistakeOf(span: OtlpSpan): string | undefined {
  if (!/^[0-9a-f]{32}$/.test(span.traceId) || /^0+$/.test(span.traceId))
    return 'trace_id must be 16 bytes, not all zero';
  if (!/^[0-9a-f]{16}$/.test(span.spanId) || /^0+$/.test(span.spanId)) return 'span_id must be 8 bytes, not all zero';
  if (span.parentSpanId !== null && !/^[0-9a-f]{16}$/.test(span.parentSpanId)) return 'parent_span_id must be 8 bytes';
  if (span.startNano <= 0n || span.startNano > 4_102_444_800_000_000_000n) return 'start_time_unix_nano is no time';
  if (span.endNano < span.startNano) return 'end_time_unix_nano is before the start';
  return undefined;
}
