/** The declared budgets of an app, kept at hand between changes of the registry. */
import type { Registry } from '@pawl/bus';
import type { Budget } from '@pawl/contracts';

export type BudgetSource = { budgetsOf(app: string): readonly Budget[]; close(): void };

export function createBudgetSource(registry: Registry): BudgetSource {
  const known = new Map<string, readonly Budget[]>();
  const unsubscribe = registry.onChange(({ kind, app }) => {
    if (kind === 'Budget') known.delete(app);
  });
  return {
    budgetsOf(app) {
      const found = known.get(app) ?? registry.list('Budget', app).map(({ object }) => object);
      known.set(app, found);
      return found;
    },
    close: unsubscribe,
  };
}
