/** What runs may spend, and what their model calls leave for the call that closes them. */
import { z } from 'zod';
import { nanoUsdSchema } from './money.ts';
import { objectNameSchema, runIdSchema } from './names.ts';

const tokens = z.number().int().nonnegative();

/**
 * The call that closes a run, at its smallest. Whatever else the run asks for leaves as much of every budget as this one may
 * cost at the worst, so that it can always be made (G6).
 */
export const reserveSchema = z.object({
  /** Name of the ModelRoute that closes the run. */
  route: objectNameSchema,
  inputTokensMax: tokens,
  outputTokensMax: tokens,
  /** What the run may have spent with it. */
  spendLimitNanoUsd: nanoUsdSchema,
});
export type Reserve = z.infer<typeof reserveSchema>;

/** A run above the one that spends. */
export const spendingRunSchema = z.object({
  runId: runIdSchema,
  /** What it may have spent with a call of the loop. */
  spendLimitNanoUsd: nanoUsdSchema,
  reserve: reserveSchema.optional(),
});
export type SpendingRun = z.infer<typeof spendingRunSchema>;
