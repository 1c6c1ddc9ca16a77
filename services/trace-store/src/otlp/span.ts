/** A span as it came, whatever the encoding: ids in lower-case hex, times in Unix nanoseconds. */
import { RejectedError } from '@pawl/contracts';

/** Values of attributes: text, numbers, booleans, lists and maps of them. 64-bit integers beyond 2^53 are text. */
export type AttributeValue = string | number | boolean | null | AttributeValue[] | { [key: string]: AttributeValue };
export type Attributes = { [key: string]: AttributeValue };

export type SpanEvent = { name: string; atNano: bigint; attributes: Attributes };
export type SpanLink = { traceId: string; spanId: string; attributes: Attributes };

export type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  /** As the protocol numbers them: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  /** Bits 8 and 9 say whether it is known that the parent is in another process, and whether it is. */
  flags: number;
  traceState: string;
  startNano: bigint;
  endNano: bigint;
  attributes: Attributes;
  events: SpanEvent[];
  links: SpanLink[];
  /** How many the sender has left out by itself. */
  dropped: { attributes: number; events: number; links: number };
  /** 0 unset, 1 ok, 2 error. */
  statusCode: number;
  statusMessage: string;
  /** What made the span. */
  scope: { name: string; version: string };
  /** What the span's process says of itself. */
  resource: Attributes;
};

/** What a request held: spans, and how many could not be read, with the first reason. */
export type ReceivedSpans = { spans: OtlpSpan[]; rejected: number; reason: string | null };

/** How deep values may nest; what is deeper is cut. */
export const VALUE_DEPTH_MAX = 64;
/** What stands for a value that nests too deep. */
export const tooDeep = '[cut: nested too deep]';

/** After which a time is taken for a mistake: the year 2100. */
const latestNano = 4_102_444_800_000_000_000n;
/** A clock may be set back by this much while a span goes on. */
const clockStepNano = 86_400_000_000_000n;

const remoteFlags = { isKnown: 0x100, isRemote: 0x200 };
const entryKinds = [2, 5];

/** Whether nothing of the same process is around the span: what it does, it does as a whole. */
export function isEntry({ parentSpanId, flags, kind }: Pick<OtlpSpan, 'parentSpanId' | 'flags' | 'kind'>): boolean {
  if (parentSpanId === null) return true;
  if ((flags & remoteFlags.isKnown) !== 0) return (flags & remoteFlags.isRemote) !== 0;
  return entryKinds.includes(kind);
}

/** Adds a span that `read` gives; what it throws counts as one that could not be read. */
export function collectSpan(received: ReceivedSpans, read: () => OtlpSpan): void {
  try {
    const span = read();
    const mistake = mistakeOf(span);
    if (mistake !== undefined) return reject(received, mistake);
    received.spans.push(span.endNano < span.startNano ? { ...span, endNano: span.startNano } : span);
  } catch (error) {
    // There is no room for the request as a whole.
    if (error instanceof RejectedError) throw error;
    reject(received, 'a span could not be read');
  }
}

function reject(received: ReceivedSpans, reason: string): void {
  received.rejected += 1;
  received.reason ??= reason;
}

function mistakeOf(span: OtlpSpan): string | undefined {
  const { traceId, spanId, parentSpanId, startNano, endNano } = span;
  if (!/^[0-9a-f]{32}$/.test(traceId) || /^0+$/.test(traceId)) return 'trace_id must be 16 bytes, not all zero';
  if (!/^[0-9a-f]{16}$/.test(spanId) || /^0+$/.test(spanId)) return 'span_id must be 8 bytes, not all zero';
  if (parentSpanId !== null && !/^[0-9a-f]{16}$/.test(parentSpanId)) return 'parent_span_id must be 8 bytes';
  if (startNano <= 0n || startNano > latestNano) return 'start_time_unix_nano is no time';
  if (endNano > latestNano) return 'end_time_unix_nano is no time';
  if (endNano < startNano - clockStepNano) return 'end_time_unix_nano is before the start';
  return undefined;
}
