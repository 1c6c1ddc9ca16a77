/**
 * A large table as key figures: how many rows, what each column holds, the biggest changes between two groups, and samples (O2).
 * Pure. Sums are exact; nothing is lost, because the whole table is kept by reference.
 */
import { parseExact, sliceJson } from '@pawl/calls';
import { biggestChanges } from './biggest-changes.ts';
import { Exact, isNumber, rawNumber, type Cell, type Table } from './table.ts';

/** Rows below this number are worth showing as they are. */
const rowsMin = 12;
const columnsMax = 40;
/** Figures of more cells would hold up everything else. */
const cellsMax = 100_000;
const topMax = 5;
const sampleRows = 2;

/** JSON text of the key figures of a table; undefined for what is no table, or a small one. */
export function keyFigures(json: string, charsMax: number): string | undefined {
  const table = tableOf(json);
  if (!table || table.rows.length < rowsMin || table.columns.length === 0) return undefined;
  if (table.rows.length * table.columns.length > cellsMax) return undefined;
  const columns = table.columns.slice(0, columnsMax).map((name, at) =>
    figuresOf(
      name,
      table.rows.map((row) => row[at]),
    ),
  );
  const changes = biggestChanges(table);
  const full = {
    rowCount: table.rows.length,
    columns,
    ...(changes ? { biggestChanges: changes } : {}),
    samples: [...table.rows.slice(0, sampleRows), ...table.rows.slice(-sampleRows)].map((row) =>
      objectOf(table.columns, row),
    ),
  };
  // What explains least goes first where there is no room.
  const { samples: _samples, ...withoutSamples } = full;
  const short = { ...withoutSamples, columns: columns.map(({ top: _top, ...column }) => column) };
  return [full, withoutSamples, short].map((form) => JSON.stringify(form)).find((text) => text.length <= charsMax);
}

/** Tables are lists of objects, or `{columns, rows}` with rows as lists. */
function tableOf(json: string): Table | undefined {
  const slices = sliceJson(json);
  if (slices.kind === 'array') return tableOfObjects(slices.items);
  if (slices.kind !== 'object') return undefined;
  const member = (name: string) => slices.members.find((each) => each.name === name)?.value;
  const rows = member('rows');
  const columns = member('columns');
  if (rows === undefined) return undefined;
  const items = sliceJson(rows);
  if (items.kind !== 'array') return undefined;
  if (columns === undefined || !items.items.every((item) => item.startsWith('['))) return tableOfObjects(items.items);
  const names = JSON.parse(columns) as unknown;
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) return undefined;
  return { columns: names, rows: items.items.map(cellsOf) };
}

function cellsOf(row: string): Cell[] {
  const slices = sliceJson(row);
  return slices.kind === 'array' ? slices.items : [];
}

function tableOfObjects(items: readonly string[]): Table | undefined {
  if (items.length === 0 || !items.every((item) => item.startsWith('{'))) return undefined;
  const rows = items.map((item) => {
    const slices = sliceJson(item);
    return new Map(slices.kind === 'object' ? slices.members.map(({ name, value }) => [name, value]) : []);
  });
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  return { columns, rows: rows.map((row) => columns.map((name) => row.get(name))) };
}

type Figures = { name: string; top?: unknown } & Record<string, unknown>;

function figuresOf(name: string, cells: readonly Cell[]): Figures {
  const given = cells.filter((cell): cell is string => cell !== undefined && cell !== 'null');
  const missing = cells.length - given.length;
  const gaps = missing > 0 ? { missing } : {};
  if (given.length > 0 && given.every(isNumber)) return { name, ...numberFigures(given), ...gaps };
  const counts = new Map<string, number>();
  for (const cell of given) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  const sorted = [...counts].toSorted(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1));
  // Values that are all different say little.
  const isTelling = sorted.length < given.length;
  const top = sorted.slice(0, topMax).map(([value, count]) => ({ value: shortValue(value), count }));
  return { name, distinct: counts.size, ...(isTelling ? { top } : rangeOf(sorted.map(([value]) => value))), ...gaps };
}

function numberFigures(cells: readonly string[]): Record<string, unknown> {
  const numbers = cells.map((cell) => new Exact(cell));
  const total = numbers.reduce((sum, each) => sum.plus(each), new Exact(0));
  return {
    total: rawNumber(total),
    average: rawNumber(total.dividedBy(numbers.length).toDecimalPlaces(4)),
    min: rawNumber(numbers.reduce((least, each) => (each.lessThan(least) ? each : least))),
    max: rawNumber(numbers.reduce((most, each) => (each.greaterThan(most) ? each : most))),
  };
}

/** First and last of texts such as dates. */
function rangeOf(values: readonly string[]): Record<string, unknown> {
  const texts = values.filter((value) => value.startsWith('"')).toSorted();
  const [first] = texts;
  const last = texts.at(-1);
  return first === undefined || last === undefined ? {} : { first: shortValue(first), last: shortValue(last) };
}

const shownChars = 60;

function shortValue(json: string): unknown {
  if (json.length <= shownChars) return parseExact(json);
  return `${json.slice(0, shownChars)}…`.toWellFormed();
}

function objectOf(columns: readonly string[], row: readonly Cell[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((name, at) => [name, row[at] === undefined ? undefined : shortValue(row[at])]));
}
