import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutData } from './cut-data.ts';

const table = (count: number) => ({
  rowCount: count,
  columns: ['id', 'name'],
  rows: Array.from({ length: count }, (_unused, id) => ({ id, name: `customer ${id}` })),
});

describe('cutting a result', () => {
  test('what fits stays as it is, digit for digit', () => {
    const json = '{"id":9007199254740993,"price":1.10}';
    expect(cutData(json, 2_000)).toEqual({ data: json, leftOut: undefined });
  });

  test('a table loses rows from its middle and says how many', () => {
    const { data, leftOut } = cutData(JSON.stringify(table(500)), 2_000);
    const cut = JSON.parse(data) as ReturnType<typeof table> & { rowsLeftOut: number };
    expect(cut.rowCount).toBe(500);
    expect(cut.rows.length + cut.rowsLeftOut).toBe(500);
    expect(cut.rows[0]?.id).toBe(0);
    expect(cut.rows.at(-1)?.id).toBe(499);
    expect(leftOut).toBe(`${cut.rowsLeftOut} of 500 rows in the middle were left out.`);
    expect(data.length).toBeGreaterThan(1_800);
  });

  test('a list says in the place of its middle how many items are missing', () => {
    const { data } = cutData(JSON.stringify(Array.from({ length: 1_000 }, (_unused, at) => at)), 300);
    const items = JSON.parse(data) as unknown[];
    const marker = items.find((item) => typeof item === 'string');
    expect(items[0]).toBe(0);
    expect(items.at(-1)).toBe(999);
    expect(marker).toBe(`… ${1_000 - (items.length - 1)} items left out …`);
  });

  test('a text keeps its head and its tail', () => {
    const { data } = cutData(JSON.stringify(`BEGIN${'x'.repeat(10_000)}END`), 500);
    expect(JSON.parse(data)).toMatch(/^BEGINx+\n… \d+ characters left out …\nx+END$/);
  });

  test('numbers beyond 2^53 in the rows that stay keep every digit', () => {
    const rows = Array.from({ length: 200 }, () => '{"id":9007199254740993}').join(',');
    const { data } = cutData(`{"rowCount":200,"columns":["id"],"rows":[${rows}]}`, 500);
    expect(data).toContain('9007199254740993');
    expect(data).not.toContain('9007199254740992');
  });

  test('any JSON of any size becomes valid JSON within the limit', () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 5, stringUnit: 'binary' }),
        fc.integer({ min: 200, max: 1_000 }),
        (raw, limit) => {
          const json = JSON.stringify(JSON.parse(raw));
          const { data, leftOut } = cutData(json, limit);
          JSON.parse(data);
          expect(data.length).toBeLessThanOrEqual(limit);
          expect(leftOut === undefined).toBe(data === json);
          expect(data.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('long texts of any characters are cut to within the limit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 300, maxLength: 2_000 }),
        fc.integer({ min: 200, max: 600 }),
        (text, limit) => {
          const { data } = cutData(JSON.stringify(text), limit);
          expect(data.length).toBeLessThanOrEqual(limit);
          expect(typeof JSON.parse(data)).toBe('string');
        },
      ),
      { numRuns: 300 },
    );
  });
});
