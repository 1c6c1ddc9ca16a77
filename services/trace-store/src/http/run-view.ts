/** A run as the traces API shows it: the fields of a run of the runs API, and what it was asked. */
import { viewNanoUsd, type MoneyView } from '@pawl/contracts';
import type { RunListItem } from '../store/read-runs.ts';

export type TracedRun = {
  id: string;
  app: string;
  agent: string | null;
  revision: string | null;
  status: string;
  stopReason: string | null;
  detail: string | null;
  question: string | null;
  answer: string | null;
  partial: boolean;
  steps: number;
  toolCalls: number;
  tokens: number;
  cost: MoneyView;
  user: string | null;
  session: string | null;
  traceId: string | null;
  startedAt: string | null;
  endedAt: string | null;
  /** When its latest fact was written. */
  lastAt: string;
  /** From start to end, or to the latest fact while it runs. */
  durationMs: number | null;
};

export function viewRun(row: RunListItem): TracedRun {
  const endMs = (row.ended_at ?? row.last_at).getTime();
  return {
    id: row.run_id,
    app: row.app,
    agent: row.agent,
    revision: row.revision,
    status: row.status,
    stopReason: row.stop_reason,
    detail: row.detail,
    question: row.question,
    answer: row.answer,
    partial: row.partial ?? false,
    steps: Number(row.steps),
    toolCalls: Number(row.tool_calls),
    tokens: Number(row.tokens),
    cost: viewNanoUsd(BigInt(row.cost_nano_usd)),
    user: row.user_id,
    session: row.session,
    traceId: row.trace_id,
    startedAt: row.started_at?.toISOString() ?? null,
    endedAt: row.ended_at?.toISOString() ?? null,
    lastAt: row.last_at.toISOString(),
    durationMs: row.started_at ? Math.max(0, endMs - row.started_at.getTime()) : null,
  };
}
