/**
 * Reads OTLP traces in JSON: names in camel or snake case, ids as hex in either case, 64-bit numbers as text or numbers,
 * enums as numbers or names. Broken spans are counted and the others are kept; a broken envelope throws `RejectedError`.
 * Source: OTLP specification, JSON Protobuf Encoding.
 */
import { RejectedError } from '@pawl/contracts';
import { isDepthAtMost } from '../record/fact-message.ts';
import type { CountParts } from './count-parts.ts';
import { exactInteger } from './protobuf.ts';
import {
  collectSpan,
  tooDeep,
  VALUE_DEPTH_MAX,
  type Attributes,
  type AttributeValue,
  type OtlpSpan,
  type ReceivedSpans,
} from './span.ts';

/** How deep a request may nest at all. What is deeper in a value than values may be is cut, and the rest is kept. */
const depthMax = 100_000;

type Json = { [key: string]: unknown };

/** Text that is not UTF-8 is replaced where it stands: one span's mistake is not its neighbours'. */
const textDecoder = new TextDecoder('utf-8');

/** The spans of an ExportTraceServiceRequest. `count` is told of all values. */
export function readJsonSpans(body: Uint8Array, count: CountParts = () => {}): ReceivedSpans {
  const request = parse(body, count);
  const received: ReceivedSpans = { spans: [], rejected: 0, reason: null };
  try {
    for (const resourceSpans of listOf(of(request, 'resourceSpans'))) readResourceSpans(resourceSpans, received);
  } catch {
    throw new RejectedError('invalid_request', 'the body is no ExportTraceServiceRequest in JSON');
  }
  return received;
}

function parse(body: Uint8Array, count: CountParts): Json {
  const text = textDecoder.decode(body);
  count(valuesIn(text));
  try {
    if (!isDepthAtMost(text, depthMax)) throw new RangeError('too deep');
    const value: unknown = hasLongNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new RejectedError('invalid_json', 'the body is no ExportTraceServiceRequest in JSON');
}

/** How many values there are, by what begins and parts them; nothing within a text is one. */
function valuesIn(text: string): number {
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfText(text, at);
    else if (code === comma || code === openBrace || code === openBracket) values += 1;
  }
  return values;
}

/** Where the text ends that begins at `from`. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

const [quote, backslash, comma, openBrace, openBracket] = [34, 92, 44, 123, 91];

const hasLongNumber = /[:[,]\s*-?\d{16}/;

/** Whole numbers beyond 2^53 become their digits. */
function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return context?.source !== undefined && /^-?\d+$/.test(context.source) ? context.source : value;
}

function readResourceSpans(resourceSpans: Json, received: ReceivedSpans): void {
  const resource = objectOf(of(resourceSpans, 'resource'));
  const scopes = of(resourceSpans, 'scopeSpans') ?? of(resourceSpans, 'instrumentationLibrarySpans');
  for (const scopeSpans of listOf(scopes)) {
    const scope = objectOf(of(scopeSpans, 'scope') ?? of(scopeSpans, 'instrumentationLibrary'));
    const from = { resource, scope: { name: textOf(scope['name']), version: textOf(scope['version']) } };
    for (const span of listOf(scopeSpans['spans'])) collectSpan(received, () => readSpan(span, from));
  }
}

function readSpan(span: Json, { resource, scope }: { resource: Json; scope: OtlpSpan['scope'] }): OtlpSpan {
  const parent = idOf(of(span, 'parentSpanId'));
  const status = objectOf(span['status']);
  return {
    traceId: idOf(of(span, 'traceId')),
    spanId: idOf(of(span, 'spanId')),
    parentSpanId: /^0*$/.test(parent) ? null : parent,
    name: textOf(span['name']),
    kind: enumOf(span['kind'], spanKinds),
    flags: countOf(span['flags']),
    traceState: textOf(of(span, 'traceState')),
    startNano: integerOf(of(span, 'startTimeUnixNano')),
    endNano: integerOf(of(span, 'endTimeUnixNano')),
    attributes: attributesOf(span['attributes']),
    events: listOf(span['events']).map((event) => ({
      name: textOf(event['name']),
      atNano: integerOf(of(event, 'timeUnixNano')),
      attributes: attributesOf(event['attributes']),
    })),
    links: listOf(span['links']).map((link) => ({
      traceId: idOf(of(link, 'traceId')),
      spanId: idOf(of(link, 'spanId')),
      attributes: attributesOf(link['attributes']),
    })),
    dropped: {
      attributes: countOf(of(span, 'droppedAttributesCount')),
      events: countOf(of(span, 'droppedEventsCount')),
      links: countOf(of(span, 'droppedLinksCount')),
    },
    statusCode: enumOf(status['code'], statusCodes),
    statusMessage: textOf(status['message']),
    scope,
    resource: attributesOf(resource['attributes']),
  };
}

const statusCodes = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR'];
const spanKinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  (name) => `SPAN_KIND_${name}`,
);

/** The number of an enum's value, which may be given by its name; 0 for what is neither. */
function enumOf(value: unknown, names: readonly string[]): number {
  const number = typeof value === 'string' && names.includes(value) ? names.indexOf(value) : Number(value ?? 0);
  return number in names ? number : 0;
}

function attributesOf(list: unknown, depth = 0): Attributes {
  return Object.fromEntries(listOf(list).map((pair) => [textOf(pair['key']), valueOf(objectOf(pair['value']), depth)]));
}

function valueOf(value: Json, depth: number): AttributeValue {
  if (depth > VALUE_DEPTH_MAX) return tooDeep;
  const array = of(value, 'arrayValue');
  const map = of(value, 'kvlistValue');
  const integer = of(value, 'intValue');
  if (array !== undefined) return listOf(objectOf(array)['values']).map((item) => valueOf(item, depth + 1));
  if (map !== undefined) return attributesOf(objectOf(map)['values'], depth + 1);
  if (integer !== undefined) return exactInteger(integerOf(integer));
  const double = of(value, 'doubleValue');
  if (double !== undefined) return Number(double);
  const boolean = of(value, 'boolValue');
  if (boolean !== undefined) return boolean === true;
  const text = of(value, 'stringValue') ?? of(value, 'bytesValue');
  return text === undefined ? null : textOf(text);
}

const snakeCase = new Map<string, string>();

/** A field by its name in camel case, or in snake case as protobuf has it. */
function of(message: Json, name: string): unknown {
  const found = message[name];
  if (found !== undefined) return found;
  let other = snakeCase.get(name);
  if (other === undefined) {
    other = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeCase.set(name, other);
  }
  return message[other];
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

function countOf(value: unknown): number {
  const count = Number(value ?? 0);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
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
