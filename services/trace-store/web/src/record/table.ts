/** Which results are tables, and which of those people would rather look at than read. Pure. */
import { ExactNumber, isExactRecord, type ExactRecord, type ExactValue } from './exact-json.ts';
import { isNumberName } from './format.ts';

export type Column = { name: string; isNumber: boolean };

export type Table = {
  columns: Column[];
  rows: ExactRecord[];
  /** Rows of the result that are not here. */
  leftOut: number;
  /** Rows of the whole result. */
  count: number;
  /** What the object says beside its rows. */
  rest: ExactRecord;
};

/** Objects in a row, either alone or as `rows` of an object, make a table; so do lists in a row whose columns have names. */
export function tableOf(value: ExactValue): Table | undefined {
  if (Array.isArray(value)) {
    const { items, leftOut } = withoutMark(value);
    if (items.length === 0 || !items.every(isExactRecord)) return undefined;
    return { columns: columnsOf(items), rows: items, leftOut, count: leftOut + items.length, rest: {} };
  }
  if (!isExactRecord(value) || !Array.isArray(value.rows)) return undefined;
  const { rows: given, columns: told, rowCount, rowsLeftOut, ...others } = value;
  const marked = withoutMark(given);
  const named = namesOf(told);
  const rows = named && marked.items.every(Array.isArray) ? withNames(named, marked.items) : marked.items;
  if (!rows.every(isExactRecord)) return undefined;
  const leftOut = numberOf(rowsLeftOut) ?? marked.leftOut;
  const count = numberOf(rowCount) ?? leftOut + rows.length;
  const rest = named || told === undefined ? others : { columns: told, ...others };
  return { columns: columnsOf(rows, named), rows, leftOut, count, rest };
}

/** A list that was cut has a text in the place of what is not there. */
function withoutMark(list: ExactValue[]): { items: ExactValue[]; leftOut: number } {
  const counts = list.map((item) =>
    typeof item === 'string' ? /^… (\d+) items left out …$/.exec(item)?.[1] : undefined,
  );
  const [mark, ...more] = counts.filter((count) => count !== undefined);
  if (mark === undefined || more.length > 0) return { items: list, leftOut: 0 };
  return { items: list.filter((_item, at) => counts[at] === undefined), leftOut: Number(mark) };
}

function namesOf(columns: ExactValue | undefined): string[] | undefined {
  if (!Array.isArray(columns)) return undefined;
  const names = columns.map((column) => (isExactRecord(column) ? column.name : column));
  return names.every((name) => typeof name === 'string') ? names : undefined;
}

function withNames(names: readonly string[], rows: readonly ExactValue[][]): ExactRecord[] {
  return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])));
}

function columnsOf(rows: readonly ExactRecord[], named?: readonly string[]): Column[] {
  const names = named ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
    return { name, isNumber: values.length > 0 && values.every((value) => value instanceof ExactNumber) };
  });
}

function numberOf(value: ExactValue | undefined): number | undefined {
  const number = value instanceof ExactNumber ? Number(value.text) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

export type ChartPoint = { label: string; value: number; text: string };

/** `series`: points in time, drawn as columns. `bars`: one column of the table, drawn as bars beside its numbers. */
export type Chart =
  | { kind: 'series'; column: string; by: string; points: ChartPoint[] }
  | { kind: 'bars'; column: string; values: number[] };

const pointsMax = 120;
const barsMax = 30;

/** The chart of a table, or undefined where a chart would not help. */
export function chartOf({ columns, rows, leftOut }: Table): Chart | undefined {
  if (rows.length < 3 || leftOut > 0) return undefined;
  const label = columns.find(({ isNumber }) => !isNumber);
  const figures = columns.filter(({ name, isNumber }) => isNumber && !isNumberName(name, textsOf(rows, name)));
  const [first] = figures;
  if (!label || !first) return undefined;
  if (rows.length <= pointsMax && rows.every((row) => isTime(row[label.name]))) {
    return { kind: 'series', column: first.name, by: label.name, points: pointsOf(rows, label.name, first.name) };
  }
  if (rows.length > barsMax) return undefined;
  const amount = figures.find(({ name }) => /change|delta|diff/i.test(name) && !/pct|percent|ratio|%/i.test(name));
  const { name } = amount ?? first;
  return { kind: 'bars', column: name, values: rows.map((row) => numberOf(row[name]) ?? 0) };
}

function textsOf(rows: readonly ExactRecord[], name: string): string[] {
  return rows.flatMap((row) => (row[name] instanceof ExactNumber ? [row[name].text] : []));
}

function textOf(value: ExactValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isTime(value: ExactValue | undefined): boolean {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2})?(\.\d+)?(Z|[+-]\d{2}:?\d{2})?)?)?$/.test(value)
  );
}

function pointsOf(rows: readonly ExactRecord[], by: string, column: string): ChartPoint[] {
  return rows
    .map((row) => ({
      label: textOf(row[by]),
      value: numberOf(row[column]) ?? Number.NaN,
      text: row[column] instanceof ExactNumber ? row[column].text : '',
    }))
    .filter(({ value }) => Number.isFinite(value))
    .toSorted((left, right) => (left.label < right.label ? -1 : 1));
}
