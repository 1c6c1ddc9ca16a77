/** A run as the traces API shows it: the fields of a run of the runs API, and what it was asked. */
import { z } from 'zod';
import { moneyViewSchema, viewNanoUsd } from '@pawl/contracts';
import type { RunListItem } from '../store/read-runs.ts';
import type { Lens } from './access.ts';

export const tracedRunSchema = z.object({
  id: z.string(),
  app: z.string(),
  agent: z.string().nullable(),
  revision: z.string().nullable(),
  status: z.string().describe('running, waiting, paused or ended'),
  stopReason: z.string().nullable(),
  detail: z.string().nullable(),
  question: z.string().nullable(),
  answer: z.string().nullable(),
  partial: z.boolean(),
  steps: z.number(),
  toolCalls: z.number(),
  tokens: z.number().describe('those of sub-runs included'),
  cost: moneyViewSchema.describe('that of sub-runs included'),
  user: z.string().nullable(),
  session: z.string().nullable(),
  parent: z.object({ runId: z.string(), callId: z.string() }).nullable().describe('the call that this run answers'),
  forkOf: z.object({ runId: z.string(), fromStep: z.number() }).nullable(),
  source: z.string().describe('pawl: from the run log; otlp: from spans of another agent'),
  traceId: z.string().nullable(),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
  lastAt: z.string().describe('when its latest fact was written'),
  isLost: z.boolean().describe('silent for longer than a living run could be'),
  durationMs: z.number().nullable().describe('from start to end, or to the latest fact while it runs'),
});
export type TracedRun = z.infer<typeof tracedRunSchema>;

/** For who was not meant to read thoughts, without what another agent says of its errors: those are raw words. */
export function viewRun(row: RunListItem, lens: Lens): TracedRun {
  const endMs = (row.ended_at ?? row.last_at).getTime();
  return {
    id: row.run_id,
    app: row.app,
    agent: row.agent,
    revision: row.revision,
    status: row.status,
    stopReason: row.stop_reason,
    detail: lens === 'explained' && row.source === 'otlp' ? null : row.detail,
    question: row.question,
    answer: row.answer,
    partial: row.partial ?? false,
    steps: Number(row.steps),
    toolCalls: Number(row.tool_calls),
    tokens: Number(row.tokens),
    cost: viewNanoUsd(BigInt(row.cost_nano_usd)),
    user: row.user_id,
    session: row.session,
    parent:
      row.parent_run_id === null ? null : { runId: row.parent_run_id, callId: `call_${row.parent_m}_${row.parent_i}` },
    forkOf: row.fork_run_id === null ? null : { runId: row.fork_run_id, fromStep: Number(row.fork_step) },
    source: row.source,
    traceId: row.trace_id,
    startedAt: row.started_at?.toISOString() ?? null,
    endedAt: row.ended_at?.toISOString() ?? null,
    lastAt: row.last_at.toISOString(),
    isLost: row.is_lost,
    durationMs: row.started_at ? Math.max(0, endMs - row.started_at.getTime()) : null,
  };
}
