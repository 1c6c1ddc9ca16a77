/** The declared budgets of an app and of its org with their current windows, kept at hand between changes of the registry. */
import type { Registry } from '@pawl/bus';
import { orgApp, type Budget } from '@pawl/contracts';
import type { DatedBudget } from './levels.ts';
import { isWithin, windowAt } from './window.ts';

export type BudgetSource = {
  /** With the windows that hold now. */
  budgetsOf(app: string, nowMs: number): DatedBudget[];
  /** With the windows of another time. */
  budgetsAt(app: string, atMs: number): DatedBudget[];
  close(): void;
};

export function createBudgetSource(registry: Registry): BudgetSource {
  const known = new Map<string, DatedBudget[]>();
  const unsubscribe = registry.onChange(({ kind, app }) => {
    if (kind !== 'Budget') return;
    if (app === orgApp) known.clear();
    else known.delete(app);
  });
  const readBudgets = (app: string, atMs: number) =>
    [orgApp, app].flatMap((of) => registry.list('Budget', of)).map(({ object }) => dateBudget(object, atMs));
  return {
    budgetsOf(app, atMs) {
      const found = known.get(app) ?? readBudgets(app, atMs);
      const current = found.map((dated) => (isWithin(dated.window, atMs) ? dated : dateBudget(dated.budget, atMs)));
      known.set(app, current);
      return current;
    },
    budgetsAt: readBudgets,
    close: unsubscribe,
  };
}

/** A budget with the window that holds a moment. */
export function dateBudget(budget: Budget, atMs: number): DatedBudget {
  const { window, timeZone } = budget.spec;
  return { budget, window: windowAt(window, timeZone ?? 'UTC', atMs) };
}
