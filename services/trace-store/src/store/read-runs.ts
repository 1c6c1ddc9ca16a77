/**
 * SQL of the list of runs: keyset pages, newest first, always within one app.
 * A page reads a bounded number of rows, whatever is asked: filters that no index serves look at `scanRowsMax` runs at the
 * most, and the page says where to go on.
 */
import type { Database } from '@pawl/db';
import { runIdFrom } from '../retention/period.ts';

export type RunListItem = {
  run_id: string;
  app: string;
  agent: string | null;
  revision: string | null;
  status: string;
  stop_reason: string | null;
  question: string | null;
  answer: string | null;
  partial: boolean | null;
  detail: string | null;
  user_id: string | null;
  session: string | null;
  parent_run_id: string | null;
  parent_m: string | null;
  parent_i: string | null;
  fork_run_id: string | null;
  fork_step: string | null;
  source: string;
  is_lost: boolean;
  trace_id: string | null;
  steps: string;
  tool_calls: string;
  tokens: string;
  cost_nano_usd: string;
  started_at: Date | null;
  ended_at: Date | null;
  last_at: Date;
  listed_at: Date;
  records: string;
};

export type RunFilter = {
  app: string;
  agent?: string | undefined;
  status?: string | undefined;
  stopReason?: string | undefined;
  user?: string | undefined;
  session?: string | undefined;
  /** Runs that answer a call of this run. */
  parent?: string | undefined;
  /** Forks of this run. */
  forkOf?: string | undefined;
  source?: string | undefined;
  /** ISO times: started at or after, and before. */
  from?: string | undefined;
  to?: string | undefined;
  tool?: string | undefined;
  /** Whole nano-USD as decimal digits. */
  minCostNanoUsd?: string | undefined;
  maxCostNanoUsd?: string | undefined;
  minDurationMs?: number | undefined;
  maxDurationMs?: number | undefined;
  /** Part of the question or the answer, in any case. */
  text?: string | undefined;
};

/** A place in the list: the last run that was looked at. */
export type ListPlace = { listedAt: string; runId: string };

export type RunPage = { rows: RunListItem[]; next: ListPlace | undefined };

/** Characters of question and answer in a list; the whole text is in the run itself. */
const excerptCharsDefault = 500;
/** Runs that one page looks at. */
export const scanRowsMax = 10_000;
/** How far a run's start may be from the time in its id. */
const birthSlackMs = 604_800_000;

const shownColumns = `run_id, app, agent, revision, status, stop_reason,
  coalesce(partial, case when status = 'paused' then pause_partial end) as partial,
  coalesce(detail, case when status = 'paused' then pause_detail end) as detail,
  user_id, session, parent_run_id, parent_m, parent_i, fork_run_id, fork_step, source, trace_id, steps,
  tool_calls, tokens, cost_nano_usd, started_at, ended_at, last_at, listed_at, records,
  status = 'running' and last_at < now() - make_interval(secs => coalesce(wall_clock_ms, 3600000) / 1000.0 + 60) as is_lost`;
const answerText = `coalesce(answer, case when status = 'paused' then pause_answer end)`;

type Bind = (value: unknown) => string;

/** Up to `count` runs after `after`; `next` is where to go on, undefined at the end. */
export async function listRuns(
  database: Database,
  filter: RunFilter,
  page: { after: ListPlace | undefined; count: number; excerptChars?: number },
): Promise<RunPage> {
  const { excerptChars = excerptCharsDefault } = page;
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const scanned = `select * from traces.runs where ${indexed(filter, page.after, bind).join(' and ')}
    order by listed_at desc, run_id desc limit ${scanRowsMax}`;
  const conditions = unindexed(filter, bind);
  const rows = await database.query<RunListItem>(
    `select ${shownColumns}, left(question, ${excerptChars}) as question, left(${answerText}, ${excerptChars}) as answer
     from (${scanned}) as scanned ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by listed_at desc, run_id desc limit ${bind(page.count + 1)}`,
    values,
  );
  const shown = rows.slice(0, page.count);
  const last = shown.at(-1);
  if (rows.length > page.count && last) return { rows: shown, next: placeOf(last) };
  if (conditions.length === 0) return { rows: shown, next: undefined };
  return { rows: shown, next: await endOfScan(database, filter, page.after) };
}

/** The last run that a page looked at, when there are more behind it. */
async function endOfScan(
  database: Database,
  filter: RunFilter,
  after: ListPlace | undefined,
): Promise<ListPlace | undefined> {
  const values: unknown[] = [];
  const conditions = indexed(filter, after, (value) => `$${values.push(value)}`);
  const [end] = await database.query<{ listed_at: Date; run_id: string; looked_at: string }>(
    `select listed_at, run_id, count(*) over () as looked_at
     from (select listed_at, run_id from traces.runs where ${conditions.join(' and ')}
           order by listed_at desc, run_id desc limit ${scanRowsMax}) as scanned
     order by listed_at, run_id limit 1`,
    values,
  );
  return end && Number(end.looked_at) === scanRowsMax ? placeOf(end) : undefined;
}

function placeOf(row: { listed_at: Date; run_id: string }): ListPlace {
  return { listedAt: row.listed_at.toISOString(), runId: row.run_id };
}

const indexedColumns = {
  agent: 'agent',
  status: 'status',
  stopReason: 'stop_reason',
  user: 'user_id',
  session: 'session',
  parent: 'parent_run_id',
  forkOf: 'fork_run_id',
  source: 'source',
} as const;

/** Conditions that an index narrows down; the time in a run's id also tells which weeks to look at. */
function indexed(filter: RunFilter, after: ListPlace | undefined, bind: Bind): string[] {
  const conditions = [`app = ${bind(filter.app)}`];
  for (const [name, column] of Object.entries(indexedColumns)) {
    const wanted = filter[name as keyof typeof indexedColumns];
    if (wanted !== undefined) conditions.push(`${column} = ${bind(wanted)}`);
  }
  if (filter.from !== undefined) {
    conditions.push(`listed_at >= ${bind(filter.from)}`);
    conditions.push(`run_id >= ${bind(runIdFrom(Date.parse(filter.from) - birthSlackMs, ''))}`);
  }
  if (filter.to !== undefined) {
    conditions.push(`listed_at < ${bind(filter.to)}`);
    conditions.push(`run_id < ${bind(runIdFrom(Date.parse(filter.to) + birthSlackMs, ''))}`);
  }
  if (after) conditions.push(`(listed_at, run_id) < (${bind(after.listedAt)}::timestamptz, ${bind(after.runId)})`);
  return conditions;
}

/** Conditions that are looked up row by row. */
function unindexed(filter: RunFilter, bind: Bind): string[] {
  const conditions: string[] = [];
  const durationMs = `extract(epoch from coalesce(ended_at, last_at) - started_at) * 1000`;
  if (filter.tool !== undefined) {
    conditions.push(`${bind(filter.tool)} = any (string_to_array(tools, E'\\n'))`);
  }
  if (filter.minCostNanoUsd !== undefined) conditions.push(`cost_nano_usd >= ${bind(filter.minCostNanoUsd)}::numeric`);
  if (filter.maxCostNanoUsd !== undefined) conditions.push(`cost_nano_usd <= ${bind(filter.maxCostNanoUsd)}::numeric`);
  if (filter.minDurationMs !== undefined) conditions.push(`${durationMs} >= ${bind(filter.minDurationMs)}::float8`);
  if (filter.maxDurationMs !== undefined) conditions.push(`${durationMs} <= ${bind(filter.maxDurationMs)}::float8`);
  if (filter.text !== undefined) {
    const text = `lower(${bind(filter.text)})`;
    conditions.push(`(position(${text} in lower(question)) > 0 or position(${text} in lower(${answerText})) > 0)`);
  }
  return conditions;
}

/** One run with its whole question and answer, or undefined when the app has no such run. */
export async function findRun(
  database: Database,
  run: { app: string; runId: string },
): Promise<RunListItem | undefined> {
  const rows = await database.query<RunListItem>(
    `select ${shownColumns}, question, ${answerText} as answer from traces.runs where app = $1 and run_id = $2`,
    [run.app, run.runId],
  );
  return rows[0];
}
