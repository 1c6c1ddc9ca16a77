/**
 * Reads OTLP traces in JSON: ids as hex in either case, 64-bit numbers as text or numbers, enums as numbers or names.
 * Broken spans are counted and the others are kept; a broken envelope throws `RejectedError`.
 * Source: OTLP specification, JSON Protobuf Encoding.
 */
import { RejectedError } from '@pawl/contracts';
import { isDepthAtMost } from '../record/fact-message.ts';
import { exactInteger } from './protobuf.ts';
import {
  collectSpan,
  VALUE_DEPTH_MAX,
  type Attributes,
  type AttributeValue,
  type OtlpSpan,
  type ReceivedSpans,
} from './span.ts';

/** The envelope and the encoding of values nest this much deeper than the values. */
const depthMax = 4 * VALUE_DEPTH_MAX;

type Json = { [key: string]: unknown };

/** The spans of an ExportTraceServiceRequest. */
export function readJsonSpans(body: Uint8Array): ReceivedSpans {
  const request = parse(body);
  const received: ReceivedSpans = { spans: [], rejected: 0, reason: null };
  for (const resourceSpans of listOf(request['resourceSpans'])) {
    const resource = attributesOf(objectOf(resourceSpans['resource'])['attributes']);
    for (const scopeSpans of listOf(resourceSpans['scopeSpans'])) {
      for (const span of listOf(scopeSpans['spans'])) collectSpan(received, () => readSpan(span, resource));
    }
  }
  return received;
}

function parse(body: Uint8Array): Json {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    if (!isDepthAtMost(text, depthMax)) throw new RangeError('too deep');
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new RejectedError('invalid_json', 'the body is no ExportTraceServiceRequest in JSON');
}

function readSpan(span: Json, resource: Attributes): OtlpSpan {
  const parent = idOf(span['parentSpanId']);
  const status = objectOf(span['status']);
  return {
    traceId: idOf(span['traceId']),
    spanId: idOf(span['spanId']),
    parentSpanId: /^0*$/.test(parent) ? null : parent,
    name: textOf(span['name']),
    startNano: integerOf(span['startTimeUnixNano']),
    endNano: integerOf(span['endTimeUnixNano']),
    attributes: attributesOf(span['attributes']),
    events: listOf(span['events']).map((event) => ({
      name: textOf(event['name']),
      atNano: integerOf(event['timeUnixNano']),
      attributes: attributesOf(event['attributes']),
    })),
    statusCode: statusCodeOf(status['code']),
    statusMessage: textOf(status['message']),
    resource,
  };
}

function statusCodeOf(code: unknown): number {
  if (code === 'STATUS_CODE_ERROR') return 2;
  return code === 'STATUS_CODE_OK' ? 1 : Number(code ?? 0);
}

function attributesOf(list: unknown): Attributes {
  return Object.fromEntries(listOf(list).map((pair) => [textOf(pair['key']), valueOf(objectOf(pair['value']))]));
}

function valueOf(value: Json): AttributeValue {
  if ('stringValue' in value) return textOf(value['stringValue']);
  if ('boolValue' in value) return value['boolValue'] === true;
  if ('intValue' in value) return exactInteger(integerOf(value['intValue']));
  if ('doubleValue' in value) return Number(value['doubleValue']);
  if ('arrayValue' in value) return listOf(objectOf(value['arrayValue'])['values']).map(valueOf);
  if ('kvlistValue' in value) return attributesOf(objectOf(value['kvlistValue'])['values']);
  if ('bytesValue' in value) return textOf(value['bytesValue']);
  return null;
}

function idOf(value: unknown): string {
  return textOf(value).toLowerCase();
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function integerOf(value: unknown): bigint {
  return typeof value === 'string' || typeof value === 'number' ? BigInt(value) : 0n;
}

function listOf(value: unknown): Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new TypeError('a list was expected');
  return value.map(objectOf);
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
