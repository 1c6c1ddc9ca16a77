import { describe, expect, it } from 'vitest';
import type { Budget, BudgetSpec } from '@pawl/contracts';
import { levelsOf, refusalOf, type DatedBudget, type Level } from './levels.ts';
import { fitOutput, leastOutput, needsOf, takenOf } from './requirement.ts';

const budget = (name: string, spec: Partial<BudgetSpec> = {}): DatedBudget => ({
  window: { fromMs: 0, toMs: null },
  budget: budgetOf(name, spec),
});
const budgetOf = (name: string, spec: Partial<BudgetSpec>): Budget => ({
  apiVersion: 'pawl.dev/v1',
  kind: 'Budget',
  metadata: { app: 'demo', name },
  spec: { scope: { app: 'demo' }, limit: { amount: '1.00', currency: 'USD' }, window: 'total', ...spec },
});
const spender = {
  app: 'demo',
  agent: 'analyst',
  userId: 'eve',
  runs: [{ runId: 'run_1', limitNanoUsd: 400_000_000n }],
};
const rate = {
  aboveInputTokens: -1,
  input: 1_000_000n,
  cachedInput: 0n,
  cacheWrite: 0n,
  output: 1_000_000n,
  reasoning: 0n,
};
const price = { tiers: [rate] as [typeof rate], perRequest: 0n, source: 'test' };

describe('levels', () => {
  it('are the budgets that apply, in the order of their keys, and the run last', () => {
    const budgets = [
      budget('z-app'),
      budget('a-user', { scope: { app: 'demo', user: 'eve' } }),
      budget('other-user', { scope: { app: 'demo', user: 'bob' } }),
      budget('other-agent', { scope: { app: 'demo', agent: 'writer' } }),
      budget('agent', { scope: { app: 'demo', agent: 'analyst' } }),
    ];
    const keys = levelsOf(spender, budgets).map(({ key }) => key);
    expect(keys).toEqual([
      'budget/demo/a-user/*/eve/nano-usd',
      'budget/demo/agent/analyst/*/nano-usd',
      'budget/demo/z-app/*/*/nano-usd',
      'run/run_1',
    ]);
    expect(keys.toSorted()).toEqual(keys);
  });

  it('are also the runs above the run, in the same order whichever of them asks', () => {
    const runs = ['run_3', 'run_1', 'run_2'].map((runId, above) => ({ runId, limitNanoUsd: BigInt(above) }));
    const levels = levelsOf({ ...spender, runs }, [budget('a')]);
    expect(levels.map(({ key, limit }) => [key, limit])).toEqual([
      ['budget/demo/a/*/*/nano-usd', 1_000_000_000n],
      ['run/run_1', 1n],
      ['run/run_2', 2n],
      ['run/run_3', 0n],
    ]);
    expect(refusalOf(levels[1] as Level, 0n, 1n)).toContain('The spend limit of the run above it, run_1,');
  });

  it('count money, tokens or calls', () => {
    const budgets = [budget('a', { limit: { tokens: 500 } }), budget('b', { limit: { calls: 3 } })];
    const levels = levelsOf(spender, budgets);
    expect(levels.map(({ unit, limit }) => [unit, limit])).toEqual([
      ['tokens', 500n],
      ['calls', 3n],
      ['nano-usd', 400_000_000n],
    ]);
    expect(needsOf(levels, price, { inputTokensMax: 10, outputTokensMax: 20 })).toEqual([30n, 1n, 30n]);
    const usage = { inputTokens: 5, outputTokens: 6, cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    expect(takenOf(levels, price, usage)).toEqual([11n, 1n, 11n]);
  });

  it('name themselves when they refuse', () => {
    const [level, run] = levelsOf(spender, [budget('team', { limit: { tokens: 500 } })]);
    expect(level && refusalOf(level, 12n, 30n)).toBe(
      'Budget "team" of app "demo" has 12 tokens left; this call may need 30 tokens.',
    );
    expect(run && refusalOf(run, -5n, 30_000_000n)).toBe(
      'The spend limit of the run has 0.00 USD left; this call may need 0.03 USD.',
    );
  });
});

describe('the output limit', () => {
  const levels = levelsOf(spender, [budget('team')]);
  const bounds = { inputTokensMax: 100, outputTokensMax: 1_000, outputTokensMin: leastOutput(1_000) };
  const fit = (...lefts: bigint[]) =>
    fitOutput(
      levels.map((level, position) => ({ level, left: lefts[position] ?? 0n })),
      price,
      bounds,
    );

  it('is lowered to what the tightest level has', () => {
    expect(fit(1_100n, 1_100n)).toEqual({ outputTokensMax: 1_000 });
    expect(fit(900n, 700n)).toEqual({ outputTokensMax: 600 });
  });

  it('goes down to 64 tokens for a run, and to more than half for a shared budget', () => {
    expect(fit(9_999n, 164n)).toEqual({ outputTokensMax: 64 });
    expect(fit(9_999n, 163n)).toEqual({ blockedBy: 1, outputTokensMin: 64 });
    expect(fit(601n, 9_999n)).toEqual({ outputTokensMax: 501 });
    expect(fit(600n, 9_999n)).toEqual({ blockedBy: 0, outputTokensMin: 501 });
  });
});
