/** How a roll-up is kept as a row of `traces.runs`, and read back. */
import { statusOf, stopReasonOf, type RollUp, type RunTotals } from '../record/roll-up.ts';
import type { Column } from './column-arrays.ts';

export type RunKey = { app: string; runId: string };
export type RunRollUp = {
  key: RunKey;
  rollUp: RollUp;
  /** Whether it goes on, although a part of it has ended. */
  isOpen?: boolean;
};

/** All but the key. */
export const stateColumns: readonly Column<RunRollUp>[] = [
  { name: 'status', type: 'text', of: ({ rollUp, isOpen }) => (isOpen ? 'running' : statusOf(rollUp)) },
  { name: 'stop_reason', type: 'text', of: ({ rollUp, isOpen }) => (isOpen ? null : stopReasonOf(rollUp)) },
  { name: 'source', type: 'text', of: ({ rollUp }) => rollUp.source },
  { name: 'start_rank', type: 'text', of: ({ rollUp }) => rollUp.start?.rank ?? null },
  { name: 'agent', type: 'text', of: ({ rollUp }) => rollUp.start?.agent ?? null },
  { name: 'revision', type: 'text', of: ({ rollUp }) => rollUp.start?.revision ?? null },
  { name: 'question', type: 'text', of: ({ rollUp }) => rollUp.start?.question ?? null },
  { name: 'user_id', type: 'text', of: ({ rollUp }) => rollUp.start?.userId ?? null },
  { name: 'session', type: 'text', of: ({ rollUp }) => rollUp.start?.session ?? null },
  { name: 'parent_run_id', type: 'text', of: ({ rollUp }) => rollUp.start?.parent?.runId ?? null },
  { name: 'parent_m', type: 'bigint', of: ({ rollUp }) => rollUp.start?.parent?.m ?? null },
  { name: 'parent_i', type: 'bigint', of: ({ rollUp }) => rollUp.start?.parent?.i ?? null },
  { name: 'fork_run_id', type: 'text', of: ({ rollUp }) => rollUp.start?.forkOf?.runId ?? null },
  { name: 'fork_step', type: 'bigint', of: ({ rollUp }) => rollUp.start?.forkOf?.fromStep ?? null },
  { name: 'started_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.start?.at ?? null },
  { name: 'end_rank', type: 'text', of: ({ rollUp }) => rollUp.end?.rank ?? null },
  { name: 'ended_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.end?.at ?? null },
  { name: 'ended_reason', type: 'text', of: ({ rollUp }) => rollUp.end?.stopReason ?? null },
  { name: 'answer', type: 'text', of: ({ rollUp }) => rollUp.end?.answer ?? null },
  { name: 'partial', type: 'boolean', of: ({ rollUp }) => rollUp.end?.partial ?? null },
  { name: 'detail', type: 'text', of: ({ rollUp }) => rollUp.end?.detail ?? null },
  { name: 'ended_steps', type: 'bigint', of: ({ rollUp }) => rollUp.end?.totals?.steps ?? null },
  { name: 'ended_tool_calls', type: 'bigint', of: ({ rollUp }) => rollUp.end?.totals?.toolCalls ?? null },
  { name: 'ended_tokens', type: 'bigint', of: ({ rollUp }) => rollUp.end?.totals?.tokens ?? null },
  {
    name: 'ended_cost_nano_usd',
    type: 'numeric',
    of: ({ rollUp }) => rollUp.end?.totals?.costNanoUsd.toString() ?? null,
  },
  { name: 'pause_turn', type: 'bigint', of: ({ rollUp }) => rollUp.pause?.turn ?? null },
  { name: 'pause_reason', type: 'text', of: ({ rollUp }) => rollUp.pause?.stopReason ?? null },
  { name: 'pause_answer', type: 'text', of: ({ rollUp }) => rollUp.pause?.answer ?? null },
  { name: 'pause_partial', type: 'boolean', of: ({ rollUp }) => rollUp.pause?.partial ?? null },
  { name: 'pause_detail', type: 'text', of: ({ rollUp }) => rollUp.pause?.detail ?? null },
  { name: 'turn_m', type: 'bigint', of: ({ rollUp }) => rollUp.turn?.m ?? null },
  { name: 'turn_awaiting', type: 'text', of: ({ rollUp }) => rollUp.turn?.awaiting.join(',') ?? null },
  { name: 'turn_answered', type: 'text', of: ({ rollUp }) => rollUp.turn?.answered.join(',') ?? null },
  { name: 'wall_clock_ms', type: 'bigint', of: ({ rollUp }) => rollUp.wallClockMs },
  { name: 'tools', type: 'text', of: ({ rollUp }) => rollUp.tools.join('\n') },
  { name: 'trace_id', type: 'text', of: ({ rollUp }) => rollUp.traceId },
  { name: 'first_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.firstAt },
  { name: 'last_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.lastAt },
  { name: 'records', type: 'bigint', of: ({ rollUp }) => rollUp.records },
  { name: 'counted_steps', type: 'bigint', of: ({ rollUp }) => rollUp.steps },
  { name: 'counted_tool_calls', type: 'bigint', of: ({ rollUp }) => rollUp.toolCalls },
  { name: 'counted_tokens', type: 'bigint', of: ({ rollUp }) => rollUp.tokens },
  { name: 'counted_cost_nano_usd', type: 'numeric', of: ({ rollUp }) => rollUp.costNanoUsd.toString() },
  { name: 'sub_tokens', type: 'bigint', of: ({ rollUp }) => rollUp.subTokens },
  { name: 'sub_cost_nano_usd', type: 'numeric', of: ({ rollUp }) => rollUp.subCostNanoUsd.toString() },
];

/** A row as `pg` gives it: bigint and numeric as text. */
export type RunRow = {
  app: string;
  run_id: string;
  source: RollUp['source'];
  start_rank: string | null;
  agent: string | null;
  revision: string | null;
  question: string | null;
  user_id: string | null;
  session: string | null;
  parent_run_id: string | null;
  parent_m: string | null;
  parent_i: string | null;
  fork_run_id: string | null;
  fork_step: string | null;
  started_at: Date | null;
  end_rank: string | null;
  ended_at: Date | null;
  ended_reason: string | null;
  answer: string | null;
  partial: boolean | null;
  detail: string | null;
  ended_steps: string | null;
  ended_tool_calls: string | null;
  ended_tokens: string | null;
  ended_cost_nano_usd: string | null;
  pause_turn: string | null;
  pause_reason: string | null;
  pause_answer: string | null;
  pause_partial: boolean | null;
  pause_detail: string | null;
  turn_m: string | null;
  turn_awaiting: string | null;
  turn_answered: string | null;
  wall_clock_ms: string | null;
  tools: string;
  trace_id: string | null;
  first_at: Date;
  last_at: Date;
  records: string;
  counted_steps: string;
  counted_tool_calls: string;
  counted_tokens: string;
  counted_cost_nano_usd: string;
  sub_tokens: string;
  sub_cost_nano_usd: string;
};

/** The roll-up that a row holds. */
export function rollUpOf(row: RunRow): RollUp {
  return {
    source: row.source,
    start: startOf(row),
    end: endOf(row),
    pause: pauseOf(row),
    turn: turnOf(row),
    wallClockMs: row.wall_clock_ms === null ? null : Number(row.wall_clock_ms),
    tools: row.tools === '' ? [] : row.tools.split('\n'),
    traceId: row.trace_id,
    firstAt: row.first_at.toISOString(),
    lastAt: row.last_at.toISOString(),
    records: Number(row.records),
    steps: Number(row.counted_steps),
    toolCalls: Number(row.counted_tool_calls),
    tokens: Number(row.counted_tokens),
    costNanoUsd: BigInt(row.counted_cost_nano_usd),
    subTokens: Number(row.sub_tokens),
    subCostNanoUsd: BigInt(row.sub_cost_nano_usd),
  };
}

function startOf(row: RunRow): RollUp['start'] {
  if (!row.started_at) return null;
  return {
    rank: row.start_rank ?? '',
    at: row.started_at.toISOString(),
    agent: row.agent ?? '',
    revision: row.revision ?? '',
    question: row.question ?? '',
    userId: row.user_id,
    session: row.session,
    parent:
      row.parent_run_id === null
        ? null
        : { runId: row.parent_run_id, m: Number(row.parent_m), i: Number(row.parent_i) },
    forkOf: row.fork_run_id === null ? null : { runId: row.fork_run_id, fromStep: Number(row.fork_step) },
  };
}

function endOf(row: RunRow): RollUp['end'] {
  if (!row.ended_at) return null;
  return {
    rank: row.end_rank ?? '',
    at: row.ended_at.toISOString(),
    stopReason: row.ended_reason ?? '',
    answer: row.answer,
    partial: row.partial ?? false,
    detail: row.detail ?? '',
    totals: totalsOf(row),
  };
}

function totalsOf(row: RunRow): RunTotals | null {
  if (row.ended_steps === null) return null;
  return {
    steps: Number(row.ended_steps),
    toolCalls: Number(row.ended_tool_calls),
    tokens: Number(row.ended_tokens),
    costNanoUsd: BigInt(row.ended_cost_nano_usd ?? 0),
  };
}

function pauseOf(row: RunRow): RollUp['pause'] {
  if (row.pause_turn === null) return null;
  return {
    turn: Number(row.pause_turn),
    stopReason: row.pause_reason,
    answer: row.pause_answer,
    partial: row.pause_partial ?? false,
    detail: row.pause_detail,
  };
}

function turnOf(row: RunRow): RollUp['turn'] {
  if (row.turn_m === null) return null;
  return { m: Number(row.turn_m), awaiting: listOf(row.turn_awaiting), answered: listOf(row.turn_answered) };
}

function listOf(text: string | null): string[] {
  return text === null || text === '' ? [] : text.split(',');
}
