/** The filters of the list of runs, as they stand in an address; the export takes the same. */
import { z } from 'zod';
import { parseNano, RejectedError, runIdSchema, runStatusSchema, stopReasonSchema } from '@pawl/contracts';
import type { ListPlace, RunFilter } from '../store/read-runs.ts';

const money = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,9})?$/, 'must be an amount in USD such as 0.05')
  .describe('USD');
const ms = z.coerce.number().min(0).max(1e12).describe('milliseconds');
const text = z
  .string()
  .min(1)
  .max(200)
  .refine((value) => !value.includes('\u0000'), 'must not hold NUL');

export const filterShape = {
  agent: text.optional().describe('name of the agent'),
  user: text.optional().describe('id of the user on whose behalf it runs'),
  session: text.optional(),
  tool: text.optional().describe('a tool that was called'),
  status: runStatusSchema.optional(),
  stopReason: stopReasonSchema.optional(),
  parent: runIdSchema.optional().describe('runs that answer a call of this run'),
  forkOf: runIdSchema.optional().describe('forks of this run'),
  source: z.enum(['pawl', 'otlp']).optional().describe('pawl: from the run log; otlp: from spans of other agents'),
  minCost: money.optional(),
  maxCost: money.optional(),
  minDurationMs: ms.optional(),
  maxDurationMs: ms.optional(),
  text: text.optional().describe('part of the question or the answer, in any case'),
  from: z.iso.datetime({ offset: true }).optional().describe('started at or after'),
  to: z.iso.datetime({ offset: true }).optional().describe('started before'),
};

export type FilterQuery = z.infer<z.ZodObject<typeof filterShape>>;

/** The filter within an app. */
export function filterOf(app: string, query: FilterQuery): RunFilter {
  const { minCost, maxCost, from, to, ...rest } = query;
  return {
    app,
    ...rest,
    from: from && new Date(from).toISOString(),
    to: to && new Date(to).toISOString(),
    minCostNanoUsd: minCost && parseNano(minCost).toString(),
    maxCostNanoUsd: maxCost && parseNano(maxCost).toString(),
  };
}

const placeSchema = z.tuple([z.iso.datetime(), z.string().regex(/^[A-Za-z0-9_-]{1,200}$/)]);

export function formatCursor({ listedAt, runId }: ListPlace): string {
  return Buffer.from(JSON.stringify([listedAt, runId])).toString('base64url');
}

/** Throws `RejectedError` for what `formatCursor` did not write. */
export function parseCursor(cursor: string): ListPlace {
  try {
    const [listedAt, runId] = placeSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return { listedAt, runId };
  } catch {
    throw new RejectedError('invalid_request', 'cursor: use the value of `next` of the page before');
  }
}
