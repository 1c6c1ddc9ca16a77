import { expect, test } from 'vitest';
import { renderRows } from './table.ts';

test('columns line up, numbers to the right and digit for digit', () => {
  const json = '{"rowCount":2,"rows":[{"key":"C","id":9007199254740993},{"key":"South China","id":1.50}]}';
  expect(renderRows(json, 60)).toEqual([
    'key                        id',
    'C            9007199254740993',
    'South China              1.50',
  ]);
});

test('many rows are cut and counted; long cells too', () => {
  const rows = Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(50) }));
  const lines = renderRows(JSON.stringify({ rows }), 60) ?? [];
  expect(lines).toHaveLength(10);
  expect(lines[1]).toBe(`0  ${'x'.repeat(31)}…`);
  expect(lines[9]).toBe('… 12 more rows on the page');
});

test('one row with long cells, or rows too wide for a table, are lines of name and value', () => {
  const reason = 'the customer has found another supplier for it';
  const json = `{"rows":[{"order":"A-1","amount":9007199254740993,"reason":"${reason}"}]}`;
  expect(renderRows(json, 40)).toEqual([
    'order   A-1',
    'amount  9007199254740993',
    'reason  the customer has found another',
    '        supplier for it',
  ]);
  const wide = {
    rows: [
      { first: 'x'.repeat(20), second: 'y' },
      { first: 'z', second: '' },
    ],
  };
  expect(renderRows(JSON.stringify(wide), 28)).toEqual([
    `first   ${'x'.repeat(20)}`,
    'second  y',
    '',
    'first   z',
    'second',
  ]);
});

test.each(['not JSON', '{"rows":[]}', '{"rows":[1]}', '{"rows":[{}]}', '[1]', 'null'])('%s holds no rows', (json) =>
  expect(renderRows(json, 20)).toBeUndefined(),
);
