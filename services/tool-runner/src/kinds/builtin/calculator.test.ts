import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { calculate, CalculationError } from './calculator.ts';

function endOf(expression: string): unknown {
  try {
    return JSON.parse(calculate(expression).result);
  } catch (error) {
    return error;
  }
}

describe('calculator', () => {
  test.each([
    ['248.50 * 100', '24850'],
    ['248.50 × 100', '24850'],
    ['0.1 + 0.2', '0.3'],
    ['9007199254740993 + 1', '9007199254740994'],
    ['1 + 2 * 3', '7'],
    ['(1 + 2) * 3', '9'],
    ['-2^2', '-4'],
    ['2^3^2', '512'],
    ['2 ** 10', '1024'],
    ['2^-1', '0.5'],
    ['10 % 3', '1'],
    ['200 * 15%', '30'],
    ['50% - 0.1', '0.4'],
    ['10 - 4 - 3', '3'],
    ['100 / 8 / 2', '6.25'],
    ['min(3, 1, 2) + max(4, 5)', '6'],
    ['round(2.345, 2)', '2.35'],
    ['round(-2.5)', '-3'],
    ['abs(-7) + sqrt(16)', '11'],
    ['--3', '3'],
    ['1e3 + .5', '1000.5'],
    ['0 * -1', '0'],
  ])('%s = %s', (expression, result) => {
    expect(calculate(expression)).toEqual({ result, isRounded: false });
  });

  test('a quotient without end is rounded and says so', () => {
    expect(calculate('1 / 3')).toEqual({ result: '0.3333333333333333333333333333', isRounded: true });
  });

  test.each<[string, RegExp]>([
    ['1 / 0', /Division by zero/],
    ['5 % 0', /Division by zero/],
    ['24,850 + 1', /thousands separators|operator/],
    ['1 +', /ends where a number/],
    ['(1', /Expected "\)"/],
    ['2 2', /operator at character 3/],
    ['process.exit()', /position 8/],
    ['constructor(1)', /no function constructor/],
    ['sqrt(-1)', /no square root/],
    ['(-8)^0.5', /no such power/],
    ['9^9^9', /Exponents go up/],
    ['10^1000 * 10', /too large/],
    ['abs(1, 2)', /takes 1 to 1 values/],
    ['1 $ 2', /"\$" at position 3/],
    ['('.repeat(400) + '1', /nested deeper/],
    ['1+'.repeat(600) + '1', /longer than 1000/],
    ['-'.repeat(500) + '1', /nested deeper/],
  ])('refuses %.20s', (expression, message) => {
    expect(() => calculate(expression)).toThrow(CalculationError);
    expect(() => calculate(expression)).toThrow(message);
  });

  test('sums and products of whole numbers equal those of BigInt', () => {
    const whole = fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n });
    fc.assert(
      fc.property(whole, whole, whole, (a, b, c) => {
        expect(calculate(`(${a}) + (${b}) * (${c})`).result).toBe((a + b * c).toString());
      }),
    );
  });

  test('any text ends in a result that is a JSON number, or in a sentence', () => {
    const characters = fc.constantFrom(...'0123456789.+-*/^%(), minabsqrtround'.split(''));
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 40 }), (expression) => {
        const ending = endOf(expression);
        expect(ending instanceof CalculationError || Number.isFinite(ending)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
