/** Budget: a spending limit over a scope and a window. */
import { z } from 'zod';
import { objectNameSchema } from './names.ts';
import { currencySchema, decimalSchema } from './money.ts';

const count = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

export const budgetSpecSchema = z.strictObject({
  scope: z.strictObject({
    app: objectNameSchema,
    agent: objectNameSchema.optional(),
    user: z.string().min(1).max(200).optional(),
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
});
export type BudgetSpec = z.infer<typeof budgetSpecSchema>;
