/**
 * Columns and rows of Postgres, in its text format, as JSON text. Pure.
 * Whole and decimal numbers keep every digit, dates and times become ISO 8601, JSON columns are passed through.
 */
import postgresArray from 'postgres-array';
import { compactJson } from '@pawl/calls';

const types = {
  bool: 16,
  int8: 20,
  int2: 21,
  int4: 23,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  timestamp: 1114,
} as const;
const timestamptz = 1184;
const numeric = 1700;
const jsonb = 3802;

/** Type of an array → type of its items, for the built-in types. */
const itemTypes: Readonly<Record<number, number>> = {
  199: types.json,
  1000: types.bool,
  1005: types.int2,
  1007: types.int4,
  1009: 25,
  1015: 1043,
  1014: 1042,
  1016: types.int8,
  1021: types.float4,
  1022: types.float8,
  1115: types.timestamp,
  1182: 1082,
  1185: timestamptz,
  1231: numeric,
  2951: 2950,
  3807: jsonb,
};

const numberTypes = new Set<number>([
  types.int2,
  types.int4,
  types.int8,
  types.oid,
  types.float4,
  types.float8,
  numeric,
]);
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** JSON text of one value that Postgres gave as text. */
export function valueJson(text: string | null, typeId: number): string {
  if (text === null) return 'null';
  if (numberTypes.has(typeId)) return jsonNumber.test(text) ? text : JSON.stringify(text);
  if (typeId === types.bool) return text === 't' ? 'true' : 'false';
  if (typeId === types.json || typeId === jsonb) return compactJson(text);
  if (typeId === types.timestamp) return JSON.stringify(isoTime(text));
  if (typeId === timestamptz) return JSON.stringify(isoTime(text));
  const itemType = itemTypes[typeId];
  return itemType === undefined ? JSON.stringify(text.toWellFormed()) : arrayJson(text, itemType);
}

/** `2026-02-15 10:00:00+00` → `2026-02-15T10:00:00Z`; `infinity` and years BC stay as Postgres writes them. */
function isoTime(text: string): string {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)(?::?(\d\d))?)?$/.exec(text);
  if (!match) return text;
  const [, date, time, hours, minutes = '00'] = match;
  if (hours === undefined) return `${date}T${time}`;
  return hours === '+00' && minutes === '00' ? `${date}T${time}Z` : `${date}T${time}${hours}:${minutes}`;
}

function arrayJson(text: string, itemType: number): string {
  const render = (item: unknown): string =>
    Array.isArray(item) ? `[${item.map(render).join(',')}]` : typeof item === 'string' ? item : 'null';
  return render(postgresArray.parse(text, (item) => valueJson(item, itemType)));
}

/** Column names for JSON objects: a name that comes again gets a number, so that no column is lost. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let count = 2; taken.has(distinct); count += 1) distinct = `${name}_${count}`;
    taken.add(distinct);
    return distinct;
  });
}

export type Column = { name: string; typeId: number };

/** JSON text of one row as an object. */
export function rowJson(columns: readonly Column[], values: readonly (string | null)[]): string {
  const members = columns.map(
    ({ name, typeId }, at) => `${JSON.stringify(name)}:${valueJson(values[at] ?? null, typeId)}`,
  );
  return `{${members.join(',')}}`;
}

/** JSON text of a table. */
export function tableJson(columns: readonly Column[], rows: readonly string[]): string {
  const names = JSON.stringify(columns.map((column) => column.name));
  return `{"rowCount":${rows.length},"columns":${names},"rows":[${rows.join(',')}]}`;
}
