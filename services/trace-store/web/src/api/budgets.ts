/** Budgets and spending, from the gateway's books. */
import type { BudgetSpec, MoneyView } from '@pawl/contracts';
import type { Spent } from '../record/burn-down.ts';
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

type SpendItem = {
  hour?: string;
  day?: string;
  agent?: string | null;
  user?: string | null;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cost: MoneyView;
};

/** What was spent of a budget in its window, by the hour or by the day. */
export async function fetchSpentOf(
  { spec: { scope, window: kind }, state: { limit, window } }: Budget,
  signal?: AbortSignal,
): Promise<{ spent: Spent[]; stepMs: number }> {
  const step = kind === 'day' ? 'hour' : 'day';
  const by = [step, ...(scope.agent === undefined ? [] : ['agent']), ...(scope.user === undefined ? [] : ['user'])];
  const query = new URLSearchParams({ by: by.join(','), ...(window.from === null ? {} : { from: window.from }) });
  const { items } = await getJson<{ items: SpendItem[] }>(`/v1/spend?${query}`, signal);
  const spent = items
    .filter(({ agent, user }) => isWithin(scope.agent, agent) && isWithin(scope.user, user))
    .map((item) => ({ at: item.hour ?? `${item.day}T00:00:00Z`, size: sizeSpent(item, limit) }));
  return { spent, stepMs: step === 'hour' ? 3_600_000 : 86_400_000 };
}

function isWithin(wanted: string | undefined, found: string | null | undefined): boolean {
  return wanted === undefined || wanted === found;
}

function sizeSpent({ calls, inputTokens, outputTokens, cost }: SpendItem, limit: Amount): number {
  if ('nanoUsd' in limit) return Number(cost.nanoUsd);
  return 'tokens' in limit ? inputTokens + outputTokens : calls;
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
