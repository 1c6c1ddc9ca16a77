/** The key figures that stand for a large table: what each column holds, what changed most, some of the rows. Pure. */
import { ExactNumber, isExactRecord, isScalar, type ExactRecord, type ExactValue } from './exact-json.ts';
import { tableOf, type Table } from './table.ts';

export type KeyFigures = {
  /** Rows of the whole table. */
  count: number;
  /** Columns of numbers, each with total, average and extremes. */
  numbers: Table | undefined;
  /** Columns of texts: how many different ones there are, which are the most frequent, or the first and the last. */
  texts: { name: string; distinct: string; top: { value: string; count: string }[]; range: string[] }[];
  changes: Table | undefined;
  samples: Table | undefined;
};

/** Undefined for what is no key figures, as the tool-runner makes them. */
export function keyFiguresOf(value: ExactValue): KeyFigures | undefined {
  if (!isExactRecord(value) || !(value.rowCount instanceof ExactNumber) || !Array.isArray(value.columns))
    return undefined;
  const { rowCount, columns, biggestChanges, samples, ...others } = value;
  if (Object.keys(others).length > 0 || columns.length === 0 || !columns.every(isFigures)) return undefined;
  const numbers = columns.filter(({ total }) => total instanceof ExactNumber);
  return {
    count: Number(rowCount.text),
    numbers: tableOf(numbers),
    texts: columns.filter(({ total }) => total === undefined).map(textFigures),
    changes: Array.isArray(biggestChanges) ? tableOf(biggestChanges.map(flatChange)) : undefined,
    samples: Array.isArray(samples) ? tableOf(samples) : undefined,
  };
}

type Figures = ExactRecord & { name: string };

function isFigures(value: ExactValue): value is Figures {
  if (!isExactRecord(value) || typeof value.name !== 'string') return false;
  return value.total instanceof ExactNumber || value.distinct instanceof ExactNumber;
}

function textFigures({ name, distinct, top, first, last }: Figures): KeyFigures['texts'][number] {
  const shares = Array.isArray(top) ? top.filter(isExactRecord) : [];
  return {
    name,
    distinct: textOf(distinct),
    top: shares.map(({ value, count }) => ({ value: textOf(value), count: textOf(count) })),
    range: [first, last].flatMap((end) => (end === undefined ? [] : [textOf(end)])),
  };
}

/** `{line, column, from: {month, value}, to: {month, value}, change}` → `{line, column, "2026-01", "2026-02", change}`. */
function flatChange(change: ExactValue): ExactValue {
  if (!isExactRecord(change)) return change;
  const { from, to, ...others } = change;
  const sides = [from, to].flatMap((side) => {
    if (!isExactRecord(side)) return [];
    const { value, ...group } = side;
    const [name] = Object.values(group);
    return name === undefined || value === undefined ? [] : [[textOf(name), value] as const];
  });
  const { change: difference, percent, ...about } = others;
  return {
    ...about,
    ...Object.fromEntries(sides),
    ...(difference === undefined ? {} : { change: difference }),
    ...(percent === undefined ? {} : { change_pct: percent }),
  };
}

function textOf(value: ExactValue | undefined): string {
  if (value === undefined || value === null) return '–';
  return isScalar(value) ? String(value) : '…';
}
