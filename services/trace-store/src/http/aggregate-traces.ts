/** `GET /v1/traces/aggregates`: cost, tokens, latency, stop reasons and tool failures by time. */
import { z } from 'zod';
import { moneyViewSchema, RejectedError, viewNanoUsd } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { summarizeCalls, summarizeRuns, type ToolSummary } from '../figures/summarize.ts';
import { readAggregates } from '../store/aggregates.ts';
import type { Access } from './access.ts';
import { filterShape } from './list-query.ts';

const rangeDaysMax = { hour: 31, day: 400 } as const;
const dayMs = 86_400_000;

const querySchema = z.strictObject({
  from: z.iso.datetime({ offset: true }).optional().describe('default: seven days before `to`'),
  to: z.iso.datetime({ offset: true }).optional().describe('default: now'),
  bucket: z.enum(['hour', 'day']).default('day').describe('in UTC'),
  agent: filterShape.agent,
  user: filterShape.user,
  session: filterShape.session,
  source: filterShape.source,
});

const latency = z
  .object({ p50: z.number().nullable(), p95: z.number().nullable() })
  .describe('within a tenth of the exact value');
const answerSchema = z.object({
  from: z.string(),
  to: z.string(),
  bucket: z.string(),
  items: z.array(
    z.object({
      at: z.string().describe('where the bucket begins'),
      runs: z.number(),
      ended: z.number(),
      tokens: z.number(),
      cost: moneyViewSchema.describe('of the runs themselves: a sub-run counts as the run that it is, once'),
      durationMs: latency,
      stopReasons: z.record(z.string(), z.number()),
    }),
  ),
  tools: z.array(
    z.object({
      at: z.string(),
      tool: z.string(),
      calls: z.number(),
      failures: z.number().describe('error, timeout, in_doubt'),
      denied: z.number(),
      failureRate: z.number().min(0).max(1),
      durationMs: latency,
    }),
  ),
});

export function serveAggregateTraces(http: Http, { database, access }: { database: Database; access: Access }): void {
  const schema = {
    summary: 'Cost, tokens, latency, stop reasons and tool failures by time',
    querystring: querySchema,
    response: { 200: answerSchema },
  };
  http.get('/v1/traces/aggregates', { onRequest: access.readers, schema }, async (request) => {
    const { app } = await access.read(request, { action: 'aggregate' });
    const { bucket, ...filter } = request.query;
    const range = rangeOf(request.query);
    const { runs, calls } = await readAggregates(database, { ...filter, app, bucket, ...range });
    const items = summarizeRuns(runs).map(({ at, costNanoUsd, ...figures }) => ({
      at: at.toISOString(),
      ...figures,
      cost: viewNanoUsd(costNanoUsd),
    }));
    return { ...range, bucket, items, tools: summarizeCalls(calls).map(viewTool) };
  });
}

function viewTool({ at, ...figures }: ToolSummary): z.infer<typeof answerSchema>['tools'][number] {
  return { at: at.toISOString(), ...figures, failureRate: figures.failures / figures.calls };
}

/** The range in UTC; never so long that one question reads everything. */
function rangeOf(query: z.infer<typeof querySchema>): { from: string; to: string } {
  const toMs = query.to === undefined ? Date.now() : Date.parse(query.to);
  const fromMs = query.from === undefined ? toMs - 7 * dayMs : Date.parse(query.from);
  const days = rangeDaysMax[query.bucket];
  if (fromMs >= toMs) throw new RejectedError('invalid_request', 'from: must be before `to`');
  if (toMs - fromMs > days * dayMs) {
    throw new RejectedError('invalid_request', `from: a range by ${query.bucket} may be ${days} days long`);
  }
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}
