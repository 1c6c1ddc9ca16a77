/** GET /v1/spend?by=agent,model,day&from=&to=: an app's spending from the books. */
import { z } from 'zod';
import { objectNameSchema, RejectedError, viewNanoUsd } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import { guard, type Authorizer, type Http } from '@pawl/service';
import { readSpend, spendColumns, type SpendColumn } from '../ledger/spend.ts';

const dayMs = 86_400_000;
const daysDefault = 31;
const columnNames = Object.keys(spendColumns) as [SpendColumn, ...SpendColumn[]];
const timeSchema = z.union([z.iso.date(), z.iso.datetime()]);

const querySchema = z.object({
  app: objectNameSchema.optional(),
  by: z
    .string()
    .default('model')
    .transform((text) => [
      ...new Set(
        text
          .split(',')
          .map((name) => name.trim())
          .filter(Boolean),
      ),
    ])
    .pipe(z.array(z.enum(columnNames, `must be of ${columnNames.join(', ')}`)).max(columnNames.length)),
  /** Inclusive. Default: 31 days before `to`. */
  from: timeSchema.optional(),
  /** Exclusive. Default: now. */
  to: timeSchema.optional(),
});

export function serveSpend(http: Http, deps: { authorizer: Authorizer; database: Database }): void {
  const onRequest = guard(deps.authorizer, 'budgets');
  http.get('/v1/spend', { onRequest, schema: { querystring: querySchema } }, async (request) => {
    const caller = deps.authorizer.authorize(request, 'budgets');
    const app = caller.kind === 'app' ? caller.app : request.query.app;
    if (app === undefined) throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
    const to = request.query.to === undefined ? new Date(Date.now() + 1) : new Date(request.query.to);
    const from =
      request.query.from === undefined ? new Date(to.getTime() - daysDefault * dayMs) : new Date(request.query.from);
    const rows = await readSpend(deps.database, { apps: [app], by: request.query.by, from, to });
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      items: rows.map(({ by, costNanoUsd, ...sums }) => ({ ...by, ...sums, cost: viewNanoUsd(costNanoUsd) })),
    };
  });
}
