import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimalSchema, formatNano, moneySchema, nanoUsdSchema, parseNano, viewNanoUsd } from './money.ts';

test.each([
  ['0.40', 400_000_000n],
  ['0', 0n],
  ['1', 1_000_000_000n],
  ['0.000000001', 1n],
  ['007.5', 7_500_000_000n],
  ['-0.40', -400_000_000n],
  ['-1.50', -1_500_000_000n],
  ['999999999999999.999999999', 999_999_999_999_999_999_999_999n],
])('%s is %s nano units', (text, nano) => {
  expect(parseNano(text)).toBe(nano);
});

test.each(['', '.', '.5', '5.', '1e3', '0x10', ' 1', '1\n', '1,50', '1.0000000001', '٤', 'NaN', '--1'])(
  '%j is no amount',
  (text) => {
    expect(() => parseNano(text)).toThrow(TypeError);
    expect(decimalSchema.safeParse(text).success).toBe(false);
  },
);

test.each([
  [400_000_000n, '0.40'],
  [0n, '0.00'],
  [1n, '0.000000001'],
  [-1n, '-0.000000001'],
  [21_344_000n, '0.021344'],
  [-1_500_000_000n, '-1.50'],
  [12_345_678_901_234_567_890n, '12345678901.23456789'],
])('%s nano units are written %s', (nano, text) => {
  expect(formatNano(nano)).toBe(text);
});

const amount = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });

test('an amount that is written and read again is the same', () => {
  fc.assert(fc.property(amount, (nano) => parseNano(formatNano(nano)) === nano));
});

test('sums of what is written are exact', () => {
  fc.assert(
    fc.property(
      amount,
      amount,
      (a, b) => parseNano(formatNano(a)) + parseNano(formatNano(b)) === parseNano(formatNano(a + b)),
    ),
  );
});

describe('over HTTP', () => {
  test('a sum is shown twice: for machines and for people', () => {
    expect(viewNanoUsd(21_344_000n)).toEqual({ nanoUsd: '21344000', amount: '0.021344', currency: 'USD' });
  });

  test('every sum up to 10^30 nano-USD is a valid one', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n) + 1n, max: 10n ** 30n - 1n }),
        (nano) => nanoUsdSchema.safeParse(viewNanoUsd(nano).nanoUsd).success,
      ),
    );
  });

  test.each([
    { amount: 0.4, currency: 'USD' },
    { amount: '-1', currency: 'USD' },
    { amount: '1', currency: 'usd' },
    { amount: '1' },
  ])('%j is refused', (money) => {
    expect(moneySchema.safeParse(money).success).toBe(false);
  });
});
