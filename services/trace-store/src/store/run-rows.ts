/** SQL of `traces.runs`: locking roll-ups in one order, and writing them. */
import type { Queryable } from '@pawl/db';
import { statusOf, stopReasonOf, type RollUp } from '../record/roll-up.ts';
import { columnArrays, unnestColumns, type Column } from './column-arrays.ts';

export type RunKey = { app: string; runId: string };
type RunRollUp = { key: RunKey; rollUp: RollUp };

const keyColumns: readonly Column<RunKey>[] = [
  { name: 'app', type: 'text', of: ({ app }) => app },
  { name: 'run_id', type: 'text', of: ({ runId }) => runId },
];

const stateColumns: readonly Column<RunRollUp>[] = [
  { name: 'status', type: 'text', of: ({ rollUp }) => statusOf(rollUp) },
  { name: 'stop_reason', type: 'text', of: ({ rollUp }) => stopReasonOf(rollUp) },
  { name: 'agent', type: 'text', of: ({ rollUp }) => rollUp.start?.agent ?? null },
  { name: 'revision', type: 'text', of: ({ rollUp }) => rollUp.start?.revision ?? null },
  { name: 'question', type: 'text', of: ({ rollUp }) => rollUp.start?.question ?? null },
  { name: 'user_id', type: 'text', of: ({ rollUp }) => rollUp.start?.userId ?? null },
  { name: 'session', type: 'text', of: ({ rollUp }) => rollUp.start?.session ?? null },
  { name: 'started_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.start?.at ?? null },
  { name: 'ended_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.end?.at ?? null },
  { name: 'ended_reason', type: 'text', of: ({ rollUp }) => rollUp.end?.stopReason ?? null },
  { name: 'answer', type: 'text', of: ({ rollUp }) => rollUp.end?.answer ?? null },
  { name: 'partial', type: 'boolean', of: ({ rollUp }) => rollUp.end?.partial ?? null },
  { name: 'detail', type: 'text', of: ({ rollUp }) => rollUp.end?.detail ?? null },
  { name: 'ended_steps', type: 'bigint', of: ({ rollUp }) => rollUp.end?.steps ?? null },
  { name: 'ended_tool_calls', type: 'bigint', of: ({ rollUp }) => rollUp.end?.toolCalls ?? null },
  { name: 'ended_tokens', type: 'bigint', of: ({ rollUp }) => rollUp.end?.tokens ?? null },
  { name: 'ended_cost_nano_usd', type: 'numeric', of: ({ rollUp }) => rollUp.end?.costNanoUsd.toString() ?? null },
  { name: 'pause_turn', type: 'bigint', of: ({ rollUp }) => rollUp.pause?.turn ?? null },
  { name: 'pause_reason', type: 'text', of: ({ rollUp }) => rollUp.pause?.stopReason ?? null },
  { name: 'trace_id', type: 'text', of: ({ rollUp }) => rollUp.traceId },
  { name: 'first_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.firstAt },
  { name: 'last_at', type: 'timestamptz', of: ({ rollUp }) => rollUp.lastAt },
  { name: 'records', type: 'bigint', of: ({ rollUp }) => rollUp.records },
  { name: 'counted_steps', type: 'bigint', of: ({ rollUp }) => rollUp.steps },
  { name: 'counted_tool_calls', type: 'bigint', of: ({ rollUp }) => rollUp.toolCalls },
  { name: 'counted_tokens', type: 'bigint', of: ({ rollUp }) => rollUp.tokens },
  { name: 'counted_cost_nano_usd', type: 'numeric', of: ({ rollUp }) => rollUp.costNanoUsd.toString() },
];

const allColumns: readonly Column<RunRollUp>[] = [
  { name: 'app', type: 'text', of: ({ key }) => key.app },
  { name: 'run_id', type: 'text', of: ({ key }) => key.runId },
  ...stateColumns,
];

/**
 * Locks the rows of the runs until the transaction ends, making those that are missing, and gives the roll-ups by
 * `runKeyOf`. `keys` must be sorted (`sortedKeys`): every writer locks in the same order, so none can block another for ever.
 */
export async function lockRuns(client: Queryable, keys: readonly RunKey[]): Promise<Map<string, RollUp>> {
  const values = columnArrays(keyColumns, keys);
  await client.query(
    `insert into traces.runs (app, run_id, status, first_at, last_at, records,
                              counted_steps, counted_tool_calls, counted_tokens, counted_cost_nano_usd)
     select app, run_id, 'running', 'epoch', 'epoch', 0, 0, 0, 0, 0 from ${unnestColumns(keyColumns)}
     on conflict (app, run_id) do nothing`,
    values,
  );
  const rows = await client.query<RunRow>(
    `select * from traces.runs where (app, run_id) in (select app, run_id from ${unnestColumns(keyColumns)})
     order by app collate "C", run_id for update`,
    values,
  );
  const known = rows.filter((row) => row.records !== '0');
  return new Map(known.map((row) => [runKeyOf({ app: row.app, runId: row.run_id }), rollUpOf(row)]));
}

/** Writes roll-ups over the rows that `lockRuns` locked. */
export async function updateRuns(client: Queryable, runs: readonly RunRollUp[]): Promise<void> {
  const assignments = stateColumns.map(({ name }) => `${name} = rows.${name}`).join(', ');
  await client.query(
    `update traces.runs set ${assignments} from ${unnestColumns(allColumns)}
     where runs.app = rows.app and runs.run_id = rows.run_id`,
    columnArrays(allColumns, runs),
  );
}

/** A run's key as one text; its parts can't hold a slash. */
export function runKeyOf({ app, runId }: RunKey): string {
  return `${app}/${runId}`;
}

/** Distinct keys in the order in which runs are locked: by bytes of app, then of run id. */
export function sortedKeys(keys: Iterable<RunKey>): RunKey[] {
  const distinct = new Map<string, RunKey>();
  for (const { app, runId } of keys) distinct.set(runKeyOf({ app, runId }), { app, runId });
  return [...distinct.values()].toSorted(
    (left, right) => compareText(left.app, right.app) || compareText(left.runId, right.runId),
  );
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** A row as `pg` gives it: bigint and numeric as text. */
export type RunRow = {
  app: string;
  run_id: string;
  agent: string | null;
  revision: string | null;
  question: string | null;
  user_id: string | null;
  session: string | null;
  started_at: Date | null;
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
  trace_id: string | null;
  first_at: Date;
  last_at: Date;
  records: string;
  counted_steps: string;
  counted_tool_calls: string;
  counted_tokens: string;
  counted_cost_nano_usd: string;
};

/** The roll-up that a row holds. */
export function rollUpOf(row: RunRow): RollUp {
  return {
    start: startOf(row),
    end: endOf(row),
    pause: row.pause_turn === null ? null : { turn: Number(row.pause_turn), stopReason: row.pause_reason },
    traceId: row.trace_id,
    firstAt: row.first_at.toISOString(),
    lastAt: row.last_at.toISOString(),
    records: Number(row.records),
    steps: Number(row.counted_steps),
    toolCalls: Number(row.counted_tool_calls),
    tokens: Number(row.counted_tokens),
    costNanoUsd: BigInt(row.counted_cost_nano_usd),
  };
}

function startOf(row: RunRow): RollUp['start'] {
  if (!row.started_at) return null;
  return {
    at: row.started_at.toISOString(),
    agent: row.agent ?? '',
    revision: row.revision ?? '',
    question: row.question ?? '',
    userId: row.user_id,
    session: row.session,
  };
}

function endOf(row: RunRow): RollUp['end'] {
  if (!row.ended_at) return null;
  return {
    at: row.ended_at.toISOString(),
    stopReason: row.ended_reason ?? '',
    answer: row.answer,
    partial: row.partial ?? false,
    detail: row.detail ?? '',
    steps: Number(row.ended_steps),
    toolCalls: Number(row.ended_tool_calls),
    tokens: Number(row.ended_tokens),
    costNanoUsd: BigInt(row.ended_cost_nano_usd ?? 0),
  };
}
