/** Between the two groups of a table, such as this month and the last, what changed most. Pure. */
import { parseExact } from '@pawl/calls';
import { Exact, isNumber, rawNumber, type Cell, type ExactNumber, type Table } from './table.ts';

const changesMax = 5;
const partsMax = 500;

/** A column with exactly two values makes the groups, another one the parts; every number is compared. */
export function biggestChanges(table: Table): unknown[] | undefined {
  const kinds = table.columns.map((_name, at) => kindOf(table.rows.map((row) => row[at])));
  const group = kinds.findIndex((kind) => kind === 'two');
  const part = kinds.findIndex((kind, at) => kind === 'parts' && at !== group);
  if (group === -1 || part === -1) return undefined;
  const [from = '', to = ''] = [...new Set(table.rows.map((row) => row[group] ?? ''))].toSorted();
  const changes = kinds.flatMap((kind, at) =>
    kind === 'number'
      ? changesOf(table, { group, part, at, from }).map((change) => ({ ...change, column: table.columns[at] }))
      : [],
  );
  return changes
    .filter(({ by }) => !by.isZero())
    .toSorted((a, b) => b.by.abs().comparedTo(a.by.abs()))
    .slice(0, changesMax)
    .map(({ name, before, after, by, column }) => ({
      [table.columns[part] ?? 'part']: parseExact(name),
      column,
      from: { [table.columns[group] ?? 'group']: parseExact(from), value: rawNumber(before) },
      to: { [table.columns[group] ?? 'group']: parseExact(to), value: rawNumber(after) },
      change: rawNumber(by),
      ...(before.isZero() ? {} : { percent: rawNumber(by.dividedBy(before.abs()).times(100).toDecimalPlaces(1)) }),
    }));
}

type Comparing = { group: number; part: number; at: number; from: string };
type Change = { name: string; before: ExactNumber; after: ExactNumber; by: ExactNumber };

function changesOf({ rows }: Table, { group, part, at, from }: Comparing): Change[] {
  const sums = new Map<string, { before: ExactNumber; after: ExactNumber }>();
  for (const row of rows) {
    const name = row[part] ?? 'null';
    const value = new Exact(row[at] !== undefined && isNumber(row[at]) ? row[at] : 0);
    const sum = sums.get(name) ?? { before: new Exact(0), after: new Exact(0) };
    const isBefore = row[group] === from;
    sums.set(name, isBefore ? { ...sum, before: sum.before.plus(value) } : { ...sum, after: sum.after.plus(value) });
  }
  return [...sums].map(([name, { before, after }]) => ({ name, before, after, by: after.minus(before) }));
}

function kindOf(cells: readonly Cell[]): 'two' | 'parts' | 'number' | 'other' {
  const given = cells.filter((cell): cell is string => cell !== undefined && cell !== 'null');
  const distinct = new Set(given);
  const areTexts = given.length === cells.length && given.every((cell) => cell.startsWith('"'));
  if (areTexts && distinct.size === 2) return 'two';
  if (given.length > 0 && given.every(isNumber)) return 'number';
  return areTexts && distinct.size <= partsMax && distinct.size < cells.length ? 'parts' : 'other';
}
