/** GET /v1/budgets/{name}/state: what a budget's current window holds, and, with `?by=`, who spent the most of it. */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import { objectNameSchema, RejectedError, viewNanoUsd, type Budget } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Authorizer, Http } from '@pawl/service';
import { dateBudget } from '../budget/budget-source.ts';
import { levelOf, type Level, type Unit } from '../budget/levels.ts';
import type { BudgetStore } from '../budget/store.ts';
import { readSpend } from '../ledger/spend.ts';

const spendersMax = 20;

export type BudgetStateDeps = { registry: Registry; authorizer: Authorizer; store: BudgetStore; database: Database };

export function serveBudgetState(http: Http, deps: BudgetStateDeps): void {
  const schema = {
    params: z.object({ name: objectNameSchema }),
    querystring: z.object({
      app: objectNameSchema.optional(),
      /** Whose spending is told apart. */
      by: z.enum(['app', 'agent', 'user', 'run']).optional(),
    }),
  };
  http.get('/v1/budgets/:name/state', { schema }, async (request) => {
    const caller = deps.authorizer.authorize(request, 'budgets');
    const app = caller.kind === 'app' ? caller.app : request.query.app;
    if (app === undefined) throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
    const budget = deps.registry.find('Budget', app, request.params.name);
    if (!budget) throw new RejectedError('not_found', `there is no Budget ${request.params.name}`);
    const level = levelOf(dateBudget(budget.object, Date.now()));
    const { by } = request.query;
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
      ...(by === undefined ? {} : { spenders: await spendersOf(deps.database, budget.object, { level, by }) }),
    };
  });
}

/** Who spent the most in the window, dearest first. */
async function spendersOf(
  database: Database,
  { spec: { scope } }: Budget,
  { level, by }: { level: Level; by: 'app' | 'agent' | 'user' | 'run' },
): Promise<object[]> {
  const { fromMs, toMs } = level.window;
  const rows = await readSpend(database, {
    apps: scope.app === undefined ? scope.apps : [scope.app],
    agent: scope.agent,
    user: scope.user,
    by: [by],
    from: new Date(fromMs),
    to: new Date(toMs ?? Date.now() + 1),
    rowsMax: spendersMax,
  });
  return rows.map(({ by: who, costNanoUsd, calls, inputTokens, outputTokens }) => ({
    [by]: who[by] ?? null,
    calls,
    tokens: inputTokens + outputTokens,
    cost: viewNanoUsd(costNanoUsd),
  }));
}

function amountView(unit: Unit, amount: bigint): object {
  return unit === 'nano-usd' ? viewNanoUsd(amount) : { [unit]: Number(amount) };
}
