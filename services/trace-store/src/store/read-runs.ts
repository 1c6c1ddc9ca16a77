/**
 * SQL of the list of runs: keyset pages, newest first, always within one app.
 * A page is answered soon, whatever is asked: one filter goes by its index, the others look at the runs that it gives, a
 * bounded number at a time and only for a moment, and the page says where to go on.
 */
import type { Database } from '@pawl/db';
import { bornWithin, type Bind } from '../retention/period.ts';

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
/** Runs that one statement looks at. */
export const scanRowsMax = 2_000;
/** After this long a page is answered with what it has. */
const scanForMs = 25;

/** Of a run that goes on, an end is that of a part of it. */
const ifEnded = (column: string) => `case when status = 'ended' then ${column} end`;
const ifStopped = (column: string) => `case status when 'ended' then ${column} when 'paused' then pause_${column} end`;

const shownColumns = `run_id, app, agent, revision, status, stop_reason,
  ${ifStopped('partial')} as partial, ${ifStopped('detail')} as detail,
  user_id, session, parent_run_id, parent_m, parent_i, fork_run_id, fork_step, source, trace_id, steps,
  tool_calls, tokens, cost_nano_usd, started_at, ${ifEnded('ended_at')} as ended_at, last_at, listed_at, records,
  status = 'running' and last_at < now() - make_interval(secs => coalesce(wall_clock_ms, 3600000) / 1000.0 + 60) as is_lost`;
const answerText = ifStopped('answer');

/**
 * Up to `count` runs after `after`. `next` is where to go on, also when a page holds fewer because it has looked for long
 * enough; undefined at the end.
 */
export async function listRuns(
  database: Database,
  filter: RunFilter,
  page: { after: ListPlace | undefined; count: number; excerptChars?: number },
): Promise<RunPage> {
  const { count, excerptChars = excerptCharsDefault } = page;
  const giveUpAtMs = performance.now() + scanForMs;
  const first = await leadingOf(database, filter, page.after);
  const rows: RunListItem[] = [];
  let next = page.after;
  do {
    const found = await scanRuns(database, filter, { first, after: next, count: count - rows.length, excerptChars });
    rows.push(...found.rows);
    next = found.next;
  } while (next && rows.length < count && performance.now() < giveUpAtMs);
  return { rows, next };
}

/** What fits among the next `scanRowsMax` runs. */
async function scanRuns(
  database: Database,
  filter: RunFilter,
  scan: { first: Indexed | undefined; after: ListPlace | undefined; count: number; excerptChars: number },
): Promise<RunPage> {
  const { count, excerptChars } = scan;
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const { leading, others } = conditionsOf(filter, scan, bind);
  const isScan = others.length > 0;
  const scanned = `select * from traces.runs where ${leading.join(' and ')}
    order by listed_at desc, run_id desc limit ${isScan ? scanRowsMax : bind(count + 1)}`;
  const shown = `select ${shownColumns}, left(question, ${excerptChars}) as question, left(${answerText}, ${excerptChars}) as answer
    from scanned ${isScan ? `where ${others.join(' and ')}` : ''}
    order by listed_at desc, run_id desc limit ${bind(count + 1)}`;
  const scanEnd = `select listed_at as end_at, run_id as end_id, (select count(*) from scanned) as looked_at
    from scanned order by listed_at, run_id limit 1`;
  // The end comes with every row, and also where no row fits.
  const all = await database.query<RunListItem & { end_at: Date; end_id: string; looked_at: string }>(
    `with scanned as materialized (${scanned})
     select * from (${scanEnd}) as scan_end left join (${shown}) as shown on true order by listed_at desc, run_id desc`,
    values,
  );
  const rows = all
    .filter(({ run_id }) => run_id !== null)
    .map(({ end_at: _at, end_id: _id, looked_at: _count, ...row }) => row);
  const last = rows[count - 1];
  if (rows.length > count && last) return { rows: rows.slice(0, count), next: placeOf(last) };
  const [end] = all;
  const isAtEnd = !isScan || end === undefined || Number(end.looked_at) < scanRowsMax;
  return { rows, next: isAtEnd ? undefined : { listedAt: end.end_at.toISOString(), runId: end.end_id } };
}

function placeOf(row: { listed_at: Date; run_id: string }): ListPlace {
  return { listedAt: row.listed_at.toISOString(), runId: row.run_id };
}

/** Filters with an index. */
const indexedColumns = [
  ['parent', 'parent_run_id'],
  ['forkOf', 'fork_run_id'],
  ['session', 'session'],
  ['user', 'user_id'],
  ['stopReason', 'stop_reason'],
  ['agent', 'agent'],
  ['status', 'status'],
] as const satisfies readonly (readonly [keyof RunFilter, string])[];
type Indexed = (typeof indexedColumns)[number];

/** As many of the newest runs of a filter tell how rare they are. */
const probeRows = 200;

/**
 * The filter to go by: of several that have an index, the one of which fewest runs are, or whose newest runs reach back the
 * furthest.
 */
async function leadingOf(
  database: Database,
  filter: RunFilter,
  after: ListPlace | undefined,
): Promise<Indexed | undefined> {
  const wanted = indexedColumns.filter(([name]) => filter[name] !== undefined);
  if (wanted.length < 2) return wanted[0];
  const values: unknown[] = [filter.app, after?.listedAt ?? filter.to ?? 'infinity'];
  const probes = wanted.map(
    ([name, column], at) => `
      select ${at} as at, count(*) as count, min(listed_at) as oldest
      from (select listed_at from traces.runs where app = $1 and listed_at <= $2 and ${column} = $${values.push(filter[name])}
            order by listed_at desc, run_id desc limit ${probeRows}) as newest`,
  );
  const rows = await database.query<{ at: number; count: string; oldest: Date | null }>(
    probes.join(' union all '),
    values,
  );
  const [rarest] = rows.toSorted(
    (left, right) => Number(left.count) - Number(right.count) || Number(left.oldest) - Number(right.oldest),
  );
  return wanted[rarest?.at ?? 0];
}

/**
 * Conditions that an index narrows down, in the order of the list, and those that are looked up run by run. Were two
 * filters to narrow down together, nothing would bound how many runs of the first are passed over for the second. The time
 * in a run's id tells which weeks to look at.
 */
function conditionsOf(
  filter: RunFilter,
  { first, after }: { first: Indexed | undefined; after: ListPlace | undefined },
  bind: Bind,
) {
  const leading = [`app = ${bind(filter.app)}`];
  const equal = ([name, column]: Indexed) => `${column} = ${bind(filter[name])}`;
  if (first) leading.push(equal(first));
  const rest = indexedColumns.filter((indexed) => indexed !== first && filter[indexed[0]] !== undefined).map(equal);
  if (filter.from !== undefined) leading.push(`listed_at >= ${bind(filter.from)}`);
  if (filter.to !== undefined) leading.push(`listed_at < ${bind(filter.to)}`);
  leading.push(...bornWithin(filter, bind, { nowMs: Date.now() }));
  if (after) leading.push(`(listed_at, run_id) < (${bind(after.listedAt)}::timestamptz, ${bind(after.runId)})`);
  return { leading, others: [...rest, ...unindexed(filter, bind)] };
}

/** Conditions that are looked up run by run. */
function unindexed(filter: RunFilter, bind: Bind): string[] {
  const conditions: string[] = [];
  const durationMs = `extract(epoch from coalesce(${ifEnded('ended_at')}, last_at) - started_at) * 1000`;
  if (filter.source !== undefined) conditions.push(`source = ${bind(filter.source)}`);
  if (filter.tool !== undefined) {
    conditions.push(`${bind(filter.tool)} = any (string_to_array(tools, E'\\n'))`);
  }
  if (filter.minCostNanoUsd !== undefined) conditions.push(`cost_nano_usd >= ${bind(filter.minCostNanoUsd)}::numeric`);
  if (filter.maxCostNanoUsd !== undefined) conditions.push(`cost_nano_usd <= ${bind(filter.maxCostNanoUsd)}::numeric`);
  if (filter.minDurationMs !== undefined) conditions.push(`${durationMs} >= ${bind(filter.minDurationMs)}::float8`);
  if (filter.maxDurationMs !== undefined) conditions.push(`${durationMs} <= ${bind(filter.maxDurationMs)}::float8`);
  if (filter.text !== undefined) {
    const text = `lower(${bind(filter.text)})`;
    // Letters of ASCII have their other case without a look at any language, which is ten times faster.
    const lower = (column: string) => `lower(${column}${isAscii(filter.text ?? '') ? ' collate "C"' : ''})`;
    conditions.push(`(position(${text} in ${lower('question')}) > 0 or position(${text} in ${lower(answerText)}) > 0)`);
  }
  return conditions;
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
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
