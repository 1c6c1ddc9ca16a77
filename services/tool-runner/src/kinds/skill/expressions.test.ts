import { describe, expect, test } from 'vitest';
import { evaluateExpression, ExpressionError, expressionProblem } from './expressions.ts';

describe('expressions', () => {
  test.each<[string, string, string | undefined]>([
    ['args.city', '{"args":{"city":"Bern"}}', '"Bern"'],
    ['steps.a.data[0].id', '{"steps":{"a":{"data":[{"id":7}]}}}', '7'],
    ['{"x": args.n * 2}', '{"args":{"n":1.10}}', '{"x":2.2}'],
    ['args.none', '{"args":{}}', undefined],
    ['$match(args.t, /b+/).match', '{"args":{"t":"abbbc"}}', '"bbb"'],
    ['$replace(args.t, /(a)(B)/i, "$2$1")', '{"args":{"t":"xab"}}', '"xba"'],
    ['$split(args.t, /,\\s*/)', '{"args":{"t":"a, b,c"}}', '["a","b","c"]'],
  ])('%s of %s', async (source, input, expected) => expect(await evaluateExpression(source, input)).toBe(expected));

  test('C5: numbers that a double rounds go through digit for digit', async () => {
    const input = '{"args":{"id":2512292042121000001,"list":[9007199254740993]}}';
    expect(await evaluateExpression('{"a": args.id, "b": args.list}', input)).toBe(
      '{"a":2512292042121000001,"b":[9007199254740993]}',
    );
    expect(await evaluateExpression('"no " & args.id', input)).toBe('"no 2512292042121000001"');
  });

  test('C5: calculating with such a number is an error, not a rounded result', async () => {
    await expect(evaluateExpression('args.id + 1', '{"args":{"id":9007199254740993}}')).rejects.toThrow(
      ExpressionError,
    );
  });

  test('C4: an expression without end, and a pattern that explodes, are bounded', async () => {
    const before = performance.now();
    await expect(evaluateExpression('($f := function($n){$f($n+1)}; $f(0))', '{}')).rejects.toThrow(ExpressionError);
    const input = JSON.stringify({ args: { t: `${'a'.repeat(50_000)}!` } });
    expect(await evaluateExpression('$match(args.t, /^(a+)+$/)', input)).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  test('what is no expression has a sentence', () => {
    expect(expressionProblem('args.')).toEqual(expect.stringMatching(/\w+ \w+/));
    expect(expressionProblem('args.city')).toBeUndefined();
  });
});
