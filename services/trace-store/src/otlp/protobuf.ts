/**
 * Reads and writes the few protobuf messages of OTLP traces. Fields that are not known are passed over; a broken span is
 * counted and the others are kept; a broken envelope throws `RejectedError`.
 * Source: opentelemetry-proto v1, trace.proto and common.proto; protobuf wire format.
 */
import { RejectedError } from '@pawl/contracts';
import {
  collectSpan,
  VALUE_DEPTH_MAX,
  type Attributes,
  type AttributeValue,
  type OtlpSpan,
  type ReceivedSpans,
} from './span.ts';

type Field = { number: number; bytes: Uint8Array; integer: bigint };

const noBytes = new Uint8Array();
const textDecoder = new TextDecoder('utf-8');

/** The spans of an ExportTraceServiceRequest. */
export function readProtobufSpans(request: Uint8Array): ReceivedSpans {
  const received: ReceivedSpans = { spans: [], rejected: 0, reason: null };
  try {
    for (const { number, bytes } of fieldsOf(request)) if (number === 1) readResourceSpans(bytes, received);
  } catch {
    throw new RejectedError('invalid_request', 'the body is no ExportTraceServiceRequest in protobuf');
  }
  return received;
}

function readResourceSpans(message: Uint8Array, received: ReceivedSpans): void {
  const fields = [...fieldsOf(message)];
  const resource = fields.find(({ number }) => number === 1);
  const attributes = resource ? attributesOf([...fieldsOf(resource.bytes)], 1) : {};
  for (const scope of fields.filter(({ number }) => number === 2)) {
    for (const { number, bytes } of fieldsOf(scope.bytes)) {
      if (number === 2) collectSpan(received, () => readSpan(bytes, attributes));
    }
  }
}

function readSpan(message: Uint8Array, resource: Attributes): OtlpSpan {
  const fields = [...fieldsOf(message)];
  const last = (wanted: number) => fields.findLast(({ number }) => number === wanted);
  const parent = last(4)?.bytes ?? noBytes;
  const status = [...fieldsOf(last(15)?.bytes ?? noBytes)];
  return {
    traceId: hex(last(1)?.bytes),
    spanId: hex(last(2)?.bytes),
    parentSpanId: parent.every((byte) => byte === 0) ? null : hex(parent),
    name: text(last(5)?.bytes),
    startNano: last(7)?.integer ?? 0n,
    endNano: last(8)?.integer ?? 0n,
    attributes: attributesOf(fields, 9),
    events: fields.filter(({ number }) => number === 11).map(({ bytes }) => readEvent(bytes)),
    statusCode: Number(status.find(({ number }) => number === 3)?.integer ?? 0n),
    statusMessage: text(status.find(({ number }) => number === 2)?.bytes),
    resource,
  };
}

function readEvent(message: Uint8Array): OtlpSpan['events'][number] {
  const fields = [...fieldsOf(message)];
  return {
    name: text(fields.findLast(({ number }) => number === 2)?.bytes),
    atNano: fields.findLast(({ number }) => number === 1)?.integer ?? 0n,
    attributes: attributesOf(fields, 3),
  };
}

/** The repeated `KeyValue` of field `wanted`. */
function attributesOf(fields: readonly Field[], wanted: number, depth = 0): Attributes {
  const pairs: [string, AttributeValue][] = [];
  for (const { number, bytes } of fields) {
    if (number !== wanted) continue;
    const pair = [...fieldsOf(bytes)];
    const value = pair.findLast((field) => field.number === 2);
    pairs.push([
      text(pair.findLast((field) => field.number === 1)?.bytes),
      value ? readValue(value.bytes, depth) : null,
    ]);
  }
  return Object.fromEntries(pairs);
}

function readValue(message: Uint8Array, depth: number): AttributeValue {
  if (depth > VALUE_DEPTH_MAX) throw new RangeError('a value nests too deep');
  const field = [...fieldsOf(message)].at(-1);
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
      return [...fieldsOf(bytes)].filter((item) => item.number === 1).map((item) => readValue(item.bytes, depth + 1));
    case 6:
      return attributesOf([...fieldsOf(bytes)], 1, depth + 1);
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
    const key = varint();
    const number = Number(key >> 3n);
    switch (Number(key & 7n)) {
      case 0:
        yield { number, bytes: noBytes, integer: varint() };
        break;
      case 1:
        yield { number, bytes: noBytes, integer: view.getBigUint64(at, true) };
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
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
  const message = new TextEncoder().encode(reason ?? '');
  const partial = [0x08, ...varintOf(rejected), 0x12, ...varintOf(message.length), ...message];
  return Uint8Array.from([0x0a, ...varintOf(partial.length), ...partial]);
}

function varintOf(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}
