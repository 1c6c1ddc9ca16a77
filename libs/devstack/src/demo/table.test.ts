import { expect, test } from 'vitest';
import { renderTable } from './table.ts';

test('columns line up, numbers to the right and digit for digit', () => {
  const json = '{"rowCount":2,"rows":[{"key":"C","id":9007199254740993},{"key":"South China","id":1.50}]}';
  expect(renderTable(json, 60)).toEqual([
    'key                        id',
    'C            9007199254740993',
    'South China              1.50',
  ]);
});

test('many rows are cut and counted; long cells too', () => {
  const rows = Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(50) }));
  const lines = renderTable(JSON.stringify({ rows }), 60) ?? [];
  expect(lines).toHaveLength(10);
  expect(lines[1]).toBe(`0  ${'x'.repeat(31)}…`);
  expect(lines[9]).toBe('… 12 more rows on the page');
});

test.each(['not JSON', '{"rows":[]}', '{"rows":[1]}', '[1]', 'null', '{"rows":[{"a":"12345678901234567890"}]}'])(
  '%s is no table that fits',
  (json) => expect(renderTable(json, 20)).toBeUndefined(),
);
