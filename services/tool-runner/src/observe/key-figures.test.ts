import { describe, expect, test } from 'vitest';
import { keyFigures } from './key-figures.ts';

const lines = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'];
const sales = ['2026-01', '2026-02'].flatMap((month) =>
  lines.map((line) => ({ month, line, revenue: line === 'C' && month === '2026-02' ? 58 : 100, id: 1 })),
);
const figures = (value: unknown, charsMax = 4_000) => {
  const text = keyFigures(typeof value === 'string' ? value : JSON.stringify(value), charsMax);
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
};

describe('key figures of tables', () => {
  test('O2: rows, totals, extremes, the biggest change between two groups, and samples', () => {
    const found = figures(sales);
    expect(found).toMatchObject({
      rowCount: 16,
      columns: [
        {
          name: 'month',
          distinct: 2,
          top: [
            { value: '2026-01', count: 8 },
            { value: '2026-02', count: 8 },
          ],
        },
        { name: 'line', distinct: 8 },
        { name: 'revenue', total: 1_558, min: 58, max: 100, average: 97.375 },
        { name: 'id' },
      ],
      samples: [sales[0], sales[1], sales[14], sales[15]],
    });
    expect(found?.['biggestChanges']).toEqual([
      {
        line: 'C',
        column: 'revenue',
        from: { month: '2026-01', value: 100 },
        to: { month: '2026-02', value: 58 },
        change: -42,
        percent: -42,
      },
    ]);
  });

  test('C5: totals and extremes keep every digit', () => {
    const rows = Array.from({ length: 12 }, () => '{"id":9007199254740993,"price":0.1}').join(',');
    const text = keyFigures(`[${rows}]`, 4_000);
    expect(text).toContain('"total":108086391056891916');
    expect(text).toContain('"max":9007199254740993');
    expect(text).toContain('"total":1.2');
  });

  test('tables of columns and rows count, too; missing values are told', () => {
    const rows = Array.from({ length: 20 }, (_unused, at) => [`2026-01-${String(at + 10)}`, at % 2 === 0 ? at : null]);
    expect(figures({ columns: ['day', 'value'], rows, rowCount: 20 })).toMatchObject({
      rowCount: 20,
      columns: [
        { name: 'day', distinct: 20, first: '2026-01-10', last: '2026-01-29' },
        { name: 'value', total: 90, missing: 10 },
      ],
    });
  });

  test('what has no room goes: samples first', () => {
    expect(figures(sales, 700)).not.toHaveProperty('samples');
    expect(figures(sales, 50)).toBeUndefined();
  });

  test.each([[[1, 2, 3]], ['text'], [{ a: 1 }], [sales.slice(0, 3)], [[]]])('%j is no large table', (value) => {
    expect(keyFigures(JSON.stringify(value), 4_000)).toBeUndefined();
  });
});
