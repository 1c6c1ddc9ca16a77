/** Budget: a spending limit over a scope and a window. */
import { z } from 'zod';
import { objectNameSchema } from './names.ts';
import { currencySchema, decimalSchema } from './money.ts';

/** Where budgets of orgs are declared, with the admin key. No key belongs to it. */
export const orgApp = 'org';

const count = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

export const budgetSpecSchema = z
  .strictObject({
    scope: z
      .strictObject({
        app: objectNameSchema.optional(),
        /** Instead of an app: the name of an org, whose apps share the budget. Such a budget is declared under the app `org`. */
        org: objectNameSchema.optional(),
        /** Apps of the org. Default: all that there are. */
        apps: z.array(objectNameSchema).min(1).max(1_000).optional(),
        agent: objectNameSchema.optional(),
        user: z.string().min(1).max(200).optional(),
        /** The id of a key: calls over HTTP with that key, and those of runs that were started with it. For rate limits, since the books know no keys. */
        key: z.string().min(1).max(200).optional(),
      })
      .refine(({ app, org, apps }) => (app === undefined) !== (org === undefined) && (!apps || org !== undefined), {
        message: 'names either an app, or an org and maybe its apps',
      }),
    limit: z.union([
      z.strictObject({ amount: decimalSchema, currency: currencySchema }),
      z.strictObject({ tokens: count }),
      z.strictObject({ calls: count }),
      /** Calls under way at once. */
      z.strictObject({ concurrent: count }),
    ]),
    /** A budget of a minute is a rate limit: what it refuses may be asked again when the minute is over. */
    window: z.enum(['total', 'minute', 'day', 'week', 'month']),
    /** IANA zone in which the window begins and ends. Default UTC. */
    timeZone: z.string().min(1).max(100).optional(),
  })
  .refine(
    ({ scope, limit, window }) => scope.key === undefined || window === 'minute' || 'concurrent' in limit,
    'a limit of one key is a rate: its window is minute, or it counts calls at once',
  );
export type BudgetSpec = z.infer<typeof budgetSpecSchema>;
