/** The declared budgets of an app with their current windows, kept at hand between changes of the registry. */
import type { Registry } from '@pawl/bus';
import type { Budget } from '@pawl/contracts';
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
    if (kind === 'Budget') known.delete(app);
  });
  return {
    budgetsOf(app, atMs) {
      const found = known.get(app) ?? registry.list('Budget', app).map(({ object }) => dateBudget(object, atMs));
      const current = found.map((dated) => (isWithin(dated.window, atMs) ? dated : dateBudget(dated.budget, atMs)));
      known.set(app, current);
      return current;
    },
    budgetsAt: (app, atMs) => registry.list('Budget', app).map(({ object }) => dateBudget(object, atMs)),
    close: unsubscribe,
  };
}

/** A budget with the window that holds a moment. */
export function dateBudget(budget: Budget, atMs: number): DatedBudget {
  const { window, timeZone } = budget.spec;
  return { budget, window: windowAt(window, timeZone ?? 'UTC', atMs) };
}
