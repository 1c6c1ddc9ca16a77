/** Budgets and spending, from the gateway's books. */
import type { BudgetSpec, MoneyView } from '@pawl/contracts';
import type { Spent } from '../record/burn-down.ts';
import { costOfNano } from '../record/format.ts';
import { getJson } from './request.ts';

/** Money in the budget's own currency: `amount` is in `currency`, `nanoUsd` what it is worth in USD today. */
export type BudgetMoney = Omit<MoneyView, 'currency'> & { currency: string };
export type Amount = BudgetMoney | { tokens: number } | { calls: number } | { concurrent: number };

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
  if ('tokens' in amount) return amount.tokens;
  return 'calls' in amount ? amount.calls : amount.concurrent;
}

/** What is left of a limit, in its own unit; nothing where more is held and spent than that. */
export function leftOf({ limit, held, spent }: Omit<BudgetState, 'window'>): Amount {
  if ('nanoUsd' in limit && 'nanoUsd' in held && 'nanoUsd' in spent) {
    const rest = (of: (money: BudgetMoney) => bigint) => {
      const left = of(limit) - of(held) - of(spent);
      return left < 0n ? 0n : left;
    };
    const amount = rest((money) => nanoOf(money.amount));
    return {
      ...limit,
      nanoUsd: String(rest((money) => BigInt(money.nanoUsd))),
      amount: costOfNano(String(amount)).amount,
    };
  }
  const left = Math.max(0, sizeOf(limit) - sizeOf(held) - sizeOf(spent));
  if ('tokens' in limit) return { tokens: left };
  return 'calls' in limit ? { calls: left } : { concurrent: left };
}

/** `14.6372` → nano units. */
function nanoOf(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(9, '0').slice(0, 9));
}

/** Held and spent as a share of the limit. */
export function shareUsed({ limit, held, spent }: BudgetState): number {
  const whole = sizeOf(limit);
  return whole > 0 ? (sizeOf(held) + sizeOf(spent)) / whole : 0;
}
