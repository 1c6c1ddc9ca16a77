import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Budget, Reserve } from '@pawl/contracts';
import { worstCase, type PriceTier } from '../price/model-price.ts';
import { levelsOf, refusalOf, type DatedBudget, type Level } from './levels.ts';
import { closingTokensOf, keptBackFor } from './reserve.ts';

const tier = (aboveInputTokens: number, rate: bigint): PriceTier => ({
  aboveInputTokens,
  input: rate,
  cachedInput: 0n,
  cacheWrite: 0n,
  output: rate,
  reasoning: 0n,
});
const price = { tiers: [tier(-1, 1_000_000n)] as [PriceTier], perRequest: 0n, source: 'test' };
const reserve = (spend: bigint, inputTokensMax = 100): Reserve => ({
  route: 'smart',
  inputTokensMax,
  outputTokensMax: 20,
  spendLimitNanoUsd: spend.toString(),
});
const keptBack = (of: Reserve) => keptBackFor([price], of);
const spender = (...runs: { runId: string; limitNanoUsd: bigint; reserve?: Reserve }[]) => ({ app: 'demo', runs });

function budget(name: string, spec: Partial<Budget['spec']>): DatedBudget {
  const limit = { amount: '1.00', currency: 'USD' };
  const whole = { scope: { app: 'demo' }, limit, window: 'total' as const, ...spec };
  const object: Budget = { apiVersion: 'pawl.dev/v1', kind: 'Budget', metadata: { app: 'demo', name }, spec: whole };
  return { window: { fromMs: 0, toMs: null }, budget: object };
}

describe('what is kept back', () => {
  it('is what the closing call costs at the worst, and no less than the run keeps by itself', () => {
    const limits = [900n, 850n].map(
      (limitNanoUsd) =>
        levelsOf(spender({ runId: 'a', limitNanoUsd, reserve: reserve(1_000n) }), [], keptBack)[0]?.limit,
    );
    expect(limits).toEqual([880n, 850n]);
  });

  it('adds up over the runs above, and lies on budgets of money and tokens that are no rates', () => {
    const runs = [
      { runId: 'b', limitNanoUsd: 900n, reserve: reserve(1_000n) },
      { runId: 'a', limitNanoUsd: 4_900n, reserve: reserve(5_000n) },
    ];
    const budgets = [
      budget('1-money', {}),
      budget('2-tokens', { limit: { tokens: 5_000 } }),
      budget('3-calls', { limit: { calls: 5 } }),
      budget('4-rate', { limit: { tokens: 5_000 }, window: 'minute' }),
    ];
    const levels = levelsOf(spender(...runs), budgets, keptBack);
    expect(levels.map(({ key, limit }) => [key.split('/')[key.startsWith('run') ? 1 : 2], limit])).toEqual([
      ['1-money', 999_999_760n],
      ['2-tokens', 4_760n],
      ['3-calls', 5n],
      ['4-rate', 5_000n],
      ['a', 4_760n],
      ['b', 880n],
    ]);
  });

  it('is told by a refusal', () => {
    const [level] = levelsOf(spender({ runId: 'a', limitNanoUsd: 900n, reserve: reserve(1_000n) }), [], keptBack);
    expect(refusalOf(level as Level, 0n, 1_000_000n)).toBe(
      'The spend limit of the run has 0.00 USD left beside 0.00000012 USD for its closing answer; this call may need 0.001 USD.',
    );
  });
});

it('a closing call that takes what it is told fits, and one token more does not; what was kept back is always told', () => {
  const rates = fc.bigInt({ min: 10_000n, max: 10_000_000n });
  const table = fc.array(fc.tuple(rates, rates), { minLength: 1, maxLength: 3 }).map((pairs) =>
    pairs.map(([low, high]) => ({
      tiers: [tier(-1, low), tier(500, low + high)] as [PriceTier, PriceTier],
      perRequest: low % 100n,
      source: 'test',
    })),
  );
  const money = fc.bigInt({ min: 0n, max: 100_000n });
  fc.assert(
    fc.property(fc.record({ prices: table, spend: money, spent: money, input: fc.nat(2_000) }), (of) => {
      const { prices, spend, spent, input } = of;
      const kept = reserve(spend, input);
      const run = { runId: 'a', limitNanoUsd: spend - spend / 10n, reserve: kept };
      const [level] = levelsOf(spender(run), [], (each) => keptBackFor(prices, each)) as [Level];
      const closing = {
        levels: levelsOf(spender({ runId: 'a', limitNanoUsd: spend }), []),
        prices,
        outputTokensMax: kept.outputTokensMax,
      };
      const left = level.limit - spent;
      const told = closingTokensOf(closing, [{ level, left }]);
      const fits = (inputTokensMax: number) =>
        prices.every((each) => worstCase(each, { inputTokensMax, outputTokensMax: 20 }) <= spend - spent);
      expect(told === 0 || fits(told)).toBe(true);
      expect(fits(told + 1)).toBe(false);
      expect(left < 0n || told >= input).toBe(true);
    }),
  );
});
