/** The declared budgets of an app and of its org with their current windows, kept at hand between changes of the registry. */
import type { Registry } from '@pawl/bus';
import { orgApp, type Budget } from '@pawl/contracts';
import type { ExchangeRates } from '../price/exchange-rates.ts';
import type { DatedBudget } from './levels.ts';
import { isWithin, windowAt } from './window.ts';

export type BudgetSource = {
  /** With the windows and rates that hold now. */
  budgetsOf(app: string, nowMs: number): DatedBudget[];
  /** With the windows and rates of another time. */
  budgetsAt(app: string, atMs: number): DatedBudget[];
  close(): void;
};

export function createBudgetSource(registry: Registry, rates: ExchangeRates): BudgetSource {
  const known = new Map<string, DatedBudget[]>();
  const unsubscribe = registry.onChange(({ kind, app }) => {
    if (kind !== 'Budget') return;
    if (app === orgApp) known.clear();
    else known.delete(app);
  });
  const readBudgets = (app: string, atMs: number) =>
    [orgApp, app].flatMap((of) => registry.list('Budget', of)).map(({ object }) => dateBudget(object, atMs, rates));
  return {
    budgetsOf(app, atMs) {
      const found = known.get(app) ?? readBudgets(app, atMs);
      const isCurrent = ({ budget, window, rate }: DatedBudget) =>
        isWithin(window, atMs) && rate === rateOf(budget, atMs, rates);
      const current = found.map((dated) => (isCurrent(dated) ? dated : dateBudget(dated.budget, atMs, rates)));
      known.set(app, current);
      return current;
    },
    budgetsAt: readBudgets,
    close: unsubscribe,
  };
}

/** A budget with the window that holds a moment, and the rate that held then. */
export function dateBudget(budget: Budget, atMs: number, rates: ExchangeRates): DatedBudget {
  const { window, timeZone } = budget.spec;
  const rate = rateOf(budget, atMs, rates);
  return { budget, window: windowAt(window, timeZone ?? 'UTC', atMs), ...(rate ? { rate } : {}) };
}

function rateOf({ spec: { limit } }: Budget, atMs: number, rates: ExchangeRates) {
  return 'currency' in limit && limit.currency !== 'USD' ? rates.at(limit.currency, atMs) : undefined;
}
