import { expect, test } from 'vitest';
import { leftOf, shareUsed, sizeOf } from './budgets.ts';

const reais = (amount: string, nanoUsd: string) => ({ amount, nanoUsd, currency: 'BRL' });

test('what is left of money is told in its own currency, digit for digit', () => {
  const [limit, held, spent] = [
    reais('100.00', '20000000000'),
    reais('0.10', '20000000'),
    reais('99.80', '19960000000'),
  ];
  expect(leftOf({ limit, held, spent })).toEqual(reais('0.100000000', '20000000'));
  expect(leftOf({ limit, held, spent: reais('200.00', '40000000000') })).toEqual(reais('0.000000000', '0'));
});

test('tokens, calls and calls at once are counted', () => {
  const window = { from: null, to: null };
  for (const unit of ['tokens', 'calls', 'concurrent'] as const) {
    const amount = (count: number) => ({ [unit]: count }) as { tokens: number };
    const state = { limit: amount(8), held: amount(3), spent: amount(1), window };
    expect(leftOf(state)).toEqual(amount(4));
    expect(sizeOf(state.limit)).toBe(8);
    expect(shareUsed(state)).toBe(0.5);
  }
});
