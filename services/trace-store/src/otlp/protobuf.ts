/**
 * Reads and writes the few protobuf messages of OTLP traces. Fields that are not known are passed over; a broken span is
 * counted and the others are kept; a broken envelope throws `RejectedError`.
 * Source: opentelemetry-proto v1, trace.proto and common.proto; protobuf wire format.
 */
import { RejectedError } from '@pawl/contracts';
import { partsAtOnce, type CountParts } from './count-parts.ts';
import {
  collectSpan,
  tooDeep,
  VALUE_DEPTH_MAX,
  type Attributes,
  type AttributeValue,
  type OtlpSpan,
  type ReceivedSpans,
} from './span.ts';

type Field = { number: number; bytes: Uint8Array; integer: bigint };

const noBytes = new Uint8Array();
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The fields of a message, all at once. */
type Read = (message: Uint8Array) => Field[];

/** The spans of an ExportTraceServiceRequest. `count` is told of all fields. */
export function readProtobufSpans(request: Uint8Array, count: CountParts = () => {}): ReceivedSpans {
  const received: ReceivedSpans = { spans: [], rejected: 0, reason: null };
  const read: Read = (message) => listFields(message, count);
  try {
    for (const { number, bytes } of read(request)) if (number === 1) readResourceSpans(bytes, received, read);
  } catch (error) {
    if (error instanceof RejectedError) throw error;
    throw new RejectedError('invalid_request', 'the body is no ExportTraceServiceRequest in protobuf');
  }
  return received;
}

/** The fields of a message in order, counted before they are kept. */
function listFields(message: Uint8Array, count: CountParts): Field[] {
  const fields: Field[] = [];
  let counted = 0;
  for (const field of fieldsOf(message)) {
    fields.push(field);
    if (fields.length - counted < partsAtOnce) continue;
    count(fields.length - counted);
    counted = fields.length;
  }
  count(fields.length - counted);
  return fields;
}

function readResourceSpans(message: Uint8Array, received: ReceivedSpans, read: Read): void {
  const fields = read(message);
  const resource = attributesOf(read(bytesIn(fields, 1)), { wanted: 1, read });
  for (const { bytes } of fields.filter(({ number }) => number === 2)) {
    const inScope = read(bytes);
    const scope = read(bytesIn(inScope, 1));
    const from = { resource, scope: { name: text(bytesIn(scope, 1)), version: text(bytesIn(scope, 2)) } };
    for (const span of inScope) if (span.number === 2) collectSpan(received, () => readSpan(span.bytes, from, read));
  }
}

type SpanSource = Pick<OtlpSpan, 'resource' | 'scope'>;

function readSpan(message: Uint8Array, { resource, scope }: SpanSource, read: Read): OtlpSpan {
  const fields = read(message);
  const parent = bytesIn(fields, 4);
  const status = read(bytesIn(fields, 15));
  const all = (wanted: number) => fields.filter(({ number }) => number === wanted).map(({ bytes }) => bytes);
  return {
    traceId: hex(bytesIn(fields, 1)),
    spanId: hex(bytesIn(fields, 2)),
    parentSpanId: parent.every((byte) => byte === 0) ? null : hex(parent),
    name: text(bytesIn(fields, 5)),
    kind: countIn(fields, 6),
    flags: countIn(fields, 16),
    traceState: text(bytesIn(fields, 3)),
    startNano: integerIn(fields, 7),
    endNano: integerIn(fields, 8),
    attributes: attributesOf(fields, { wanted: 9, read }),
    events: all(11).map((event) => readEvent(event, read)),
    links: all(13).map((link) => readLink(link, read)),
    dropped: { attributes: countIn(fields, 10), events: countIn(fields, 12), links: countIn(fields, 14) },
    statusCode: countIn(status, 3),
    statusMessage: text(bytesIn(status, 2)),
    scope,
    resource,
  };
}

function readEvent(message: Uint8Array, read: Read): OtlpSpan['events'][number] {
  const fields = read(message);
  const attributes = attributesOf(fields, { wanted: 3, read });
  return { name: text(bytesIn(fields, 2)), atNano: integerIn(fields, 1), attributes };
}

function readLink(message: Uint8Array, read: Read): OtlpSpan['links'][number] {
  const fields = read(message);
  const attributes = attributesOf(fields, { wanted: 4, read });
  return { traceId: hex(bytesIn(fields, 1)), spanId: hex(bytesIn(fields, 2)), attributes };
}

/** Of a field that should be there once, the last counts. */
function lastIn(fields: readonly Field[], wanted: number): Field | undefined {
  return fields.findLast(({ number }) => number === wanted);
}

function bytesIn(fields: readonly Field[], wanted: number): Uint8Array {
  return lastIn(fields, wanted)?.bytes ?? noBytes;
}

function integerIn(fields: readonly Field[], wanted: number): bigint {
  return lastIn(fields, wanted)?.integer ?? 0n;
}

function countIn(fields: readonly Field[], wanted: number): number {
  return Number(BigInt.asUintN(32, integerIn(fields, wanted)));
}

type Repeated = { wanted: number; read: Read; depth?: number };

/** The repeated `KeyValue` of field `wanted`. */
function attributesOf(fields: readonly Field[], { wanted, read, depth = 0 }: Repeated): Attributes {
  const pairs: [string, AttributeValue][] = [];
  for (const { number, bytes } of fields) {
    if (number !== wanted) continue;
    const pair = read(bytes);
    const value = lastIn(pair, 2);
    pairs.push([text(bytesIn(pair, 1)), value ? readValue(value.bytes, depth, read) : null]);
  }
  return Object.fromEntries(pairs);
}

function readValue(message: Uint8Array, depth: number, read: Read): AttributeValue {
  if (depth > VALUE_DEPTH_MAX) return tooDeep;
  const field = read(message).findLast(({ number }) => number >= 1 && number <= 7);
  if (!field) return null;
  const { number, bytes, integer } = field;
  switch (number) {
    case 1:
      return text(bytes);
    case 2:
      return integer !== 0n;
    case 3:
      return exactInteger(BigInt.asIntN(64, integer));
    case 4:
      return float(integer);
    case 5:
      return read(bytes)
        .filter((item) => item.number === 1)
        .map((item) => readValue(item.bytes, depth + 1, read));
    case 6:
      return attributesOf(read(bytes), { wanted: 1, read, depth: depth + 1 });
    case 7:
      return Buffer.from(bytes).toString('base64');
    default:
      return null;
  }
}

/** A number where it is exact, else its digits. */
export function exactInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function float(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

function hex(bytes: Uint8Array = noBytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

function text(bytes: Uint8Array = noBytes): string {
  return textDecoder.decode(bytes);
}

/** The fields of a message in order. Throws RangeError for what is no message. */
function* fieldsOf(message: Uint8Array): Generator<Field> {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  let at = 0;
  /** A number that is never large: keys and lengths are most of a message. */
  const small = (): number => {
    let value = 0;
    for (let factor = 1; factor < 2 ** 42; factor *= 128) {
      const byte = view.getUint8(at++);
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number without an end');
  };
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number without an end');
  };
  while (at < message.length) {
    const key = small();
    const number = Math.floor(key / 8);
    switch (key % 8) {
      case 0:
        yield { number, bytes: noBytes, integer: varint() };
        break;
      case 1:
        yield { number, bytes: noBytes, integer: view.getBigUint64(at, true) };
        at += 8;
        break;
      case 2: {
        const length = small();
        if (length > message.length - at) throw new RangeError('a field behind the end');
        yield { number, bytes: message.subarray(at, at + length), integer: 0n };
        at += length;
        break;
      }
      case 5:
        yield { number, bytes: noBytes, integer: BigInt(view.getUint32(at, true)) };
        at += 4;
        break;
      default:
        throw new RangeError('an unknown type of field');
    }
  }
}

/** An ExportTraceServiceResponse: empty, or with what was refused. */
export function writeProtobufResponse({ rejected, reason }: Omit<ReceivedSpans, 'spans'>): Uint8Array {
  if (rejected === 0) return noBytes;
  const partial = [0x08, ...varintOf(rejected), ...textField(2, reason ?? '')];
  return Uint8Array.from([0x0a, ...varintOf(partial.length), ...partial]);
}

function textField(number: number, value: string): number[] {
  const bytes = new TextEncoder().encode(value);
  return [number * 8 + 2, ...varintOf(bytes.length), ...bytes];
}

function varintOf(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}
