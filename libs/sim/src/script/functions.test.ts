import { expect, test } from 'vitest';
import { compileExpression } from './expression.ts';

async function evaluate(source: string, input: unknown = {}) {
  return await compileExpression(source)(input, { given: 7 });
}

test.each([
  ['$fmt(1234567.891, 1)', '1,234,567.9'],
  ['$fmt(-1234.5)', '\u22121,235'],
  ['$fmt(-0.2)', '0'],
  ['$signed(3)', '+3'],
  ['$signed(-18)', '\u221218'],
  ['$signed(0)', '0'],
  ['$pct(200, 164)', -18],
  ['$pct(100, 88.4)', -12],
  ['$pct(-100, -50)', 50],
  ['$pct(100, 99.9)', 0],
  ['$pct(300, 100, 1)', -66.7],
  ['$short(3500000)', '3.5 M'],
  ['$short(500000)', '0.5 M'],
  ['$short(99499)', '99 K'],
  ['$short(-2600)', '\u22123 K'],
  ['$short(12)', '12'],
  ['$monthName("2026-02")', 'February 2026'],
  ['$monthName("soon")', 'soon'],
  ['$monthAdd("2026-01", -1)', '2025-12'],
  ['$monthAdd("2026-02", -12)', '2025-02'],
  ['$monthAdd("2025-12", 1)', '2026-01'],
  ['$dayName("2026-02-05")', '5 February'],
  ['$monthIn("Why did sales fall in february, after March?")', 2],
  ['$monthIn("it may have been May")', 5],
  ['$given', 7],
])('%s gives %s', async (source, expected) => {
  expect(await evaluate(source)).toBe(expected);
});

test.each(['$pct(0, 5)', '$fmt(nothing)', '$pct(nothing, 5)', '$monthAdd(nothing, 1)', '$monthIn("you may")'])(
  '%s gives nothing',
  async (source) => {
    expect(await evaluate(source)).toBeUndefined();
  },
);

test('endless recursion, endless loops and giant sequences end with a sentence', async () => {
  await expect(evaluate('($f := function($n) { 1 + $f($n + 1) }; $f(0))')).rejects.toThrow(/D1011/);
  await expect(evaluate('($f := function($n) { $f($n + 1) }; $f(0))')).rejects.toThrow(/D1012|D1011/);
  await expect(evaluate('[1..10000000].($ * 2)')).rejects.toThrow(/JSONata D2014|JSONata D2015/);
});
