/** Budgets and spending, from the gateway's books. */
import type { BudgetSpec, MoneyView } from '@pawl/contracts';
import { getJson } from './request.ts';

export type Amount = MoneyView | { tokens: number } | { calls: number };

export type BudgetState = {
  limit: Amount;
  held: Amount;
  spent: Amount;
  window: { from: string | null; to: string | null };
};

export type Budget = { name: string; spec: BudgetSpec; state: BudgetState };

export type SpentDay = { day: string; cost: MoneyView };

/** All budgets of the key's app with their states, those that are nearest to their limit first. */
export async function fetchBudgets(signal?: AbortSignal): Promise<Budget[]> {
  type Item = { metadata: { name: string }; spec: BudgetSpec };
  const { items } = await getJson<{ items: Item[] }>('/v1/budgets', signal);
  const budgets = await Promise.all(
    items.map(async ({ metadata: { name }, spec }) => {
      const state = await getJson<BudgetState>(`/v1/budgets/${encodeURIComponent(name)}/state`, signal);
      return { name, spec, state };
    }),
  );
  return budgets.toSorted((left, right) => shareUsed(right.state) - shareUsed(left.state));
}

/** What the app spent day by day, oldest first. */
export async function fetchSpending(signal?: AbortSignal): Promise<SpentDay[]> {
  const { items } = await getJson<{ items: SpentDay[] }>('/v1/spend?by=day', signal);
  return items.toSorted((left, right) => (left.day < right.day ? -1 : 1));
}

/** An amount as a number to draw with. */
export function sizeOf(amount: Amount): number {
  if ('nanoUsd' in amount) return Number(amount.nanoUsd);
  return 'tokens' in amount ? amount.tokens : amount.calls;
}

/** Held and spent as a share of the limit. */
export function shareUsed({ limit, held, spent }: BudgetState): number {
  const whole = sizeOf(limit);
  return whole > 0 ? (sizeOf(held) + sizeOf(spent)) / whole : 0;
}
