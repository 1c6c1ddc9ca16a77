/** GET /v1/budgets/{name}/state: what a budget's current window holds. */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import { objectNameSchema, RejectedError, viewNanoUsd } from '@pawl/contracts';
import type { Authorizer, Http } from '@pawl/service';
import { dateBudget } from '../budget/budget-source.ts';
import { levelOf, type Unit } from '../budget/levels.ts';
import type { BudgetStore } from '../budget/store.ts';

export function serveBudgetState(
  http: Http,
  deps: { registry: Registry; authorizer: Authorizer; store: BudgetStore },
): void {
  const schema = {
    params: z.object({ name: objectNameSchema }),
    querystring: z.object({ app: objectNameSchema.optional() }),
  };
  http.get('/v1/budgets/:name/state', { schema }, async (request) => {
    const caller = deps.authorizer.authorize(request, 'budgets');
    const app = caller.kind === 'app' ? caller.app : request.query.app;
    if (app === undefined) throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
    const budget = deps.registry.find('Budget', app, request.params.name);
    if (!budget) throw new RejectedError('not_found', `there is no Budget ${request.params.name}`);
    const level = levelOf(dateBudget(budget.object, Date.now()));
    const { held, spent } = await deps.store.stateOf(level);
    const { fromMs, toMs } = level.window;
    return {
      limit: amountView(level.unit, level.limit),
      held: amountView(level.unit, held),
      spent: amountView(level.unit, spent),
      window: {
        from: budget.object.spec.window === 'total' ? null : new Date(fromMs).toISOString(),
        to: toMs === null ? null : new Date(toMs).toISOString(),
      },
    };
  });
}

function amountView(unit: Unit, amount: bigint): object {
  return unit === 'nano-usd' ? viewNanoUsd(amount) : { [unit]: Number(amount) };
}
