/** GET /v1/budgets/{name}/state: what a budget's current window holds, and, with `?by=`, who spent the most of it. */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import { formatNano, objectNameSchema, RejectedError, viewNanoUsd, type Budget } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import { guard, type Authorizer, type Http } from '@pawl/service';
import { dateBudget } from '../budget/budget-source.ts';
import { toUsd, type ExchangeRates } from '../price/exchange-rates.ts';
import { levelOf, type Level } from '../budget/levels.ts';
import type { BudgetStore } from '../budget/store.ts';
import { readSpend } from '../ledger/spend.ts';

const spendersMax = 20;

export type BudgetStateDeps = {
  registry: Registry;
  rates: ExchangeRates;
  authorizer: Authorizer;
  store: BudgetStore;
  database: Database;
};

export function serveBudgetState(http: Http, deps: BudgetStateDeps): void {
  const schema = {
    params: z.object({ name: objectNameSchema }),
    querystring: z.object({
      app: objectNameSchema.optional(),
      /** Whose spending is told apart. */
      by: z.enum(['app', 'agent', 'user', 'run']).optional(),
    }),
  };
  http.get('/v1/budgets/:name/state', { onRequest: guard(deps.authorizer, 'budgets'), schema }, async (request) => {
    const caller = deps.authorizer.authorize(request, 'budgets');
    const app = caller.kind === 'app' ? caller.app : request.query.app;
    if (app === undefined) throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
    const budget = deps.registry.find('Budget', app, request.params.name);
    if (!budget) throw new RejectedError('not_found', `there is no Budget ${request.params.name}`);
    const level = levelOf(dateBudget(budget.object, Date.now(), deps.rates));
    const { by } = request.query;
    const { held, spent } = await deps.store.stateOf(level);
    const { fromMs, toMs } = level.window;
    return {
      limit: amountView(level, level.limit),
      held: amountView(level, held),
      spent: amountView(level, spent),
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

/** Money in its own currency, and in USD by today's rate. */
function amountView({ unit, rate }: Level, amount: bigint): object {
  if (unit !== 'nano-usd') return { [unit]: Number(amount) };
  if (!rate) return viewNanoUsd(amount);
  return { nanoUsd: toUsd(amount, rate).toString(), amount: formatNano(amount), currency: rate.currency };
}
