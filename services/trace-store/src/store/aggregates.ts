/**
 * SQL of figures by time: what runs cost, how long they took, why they stopped, how often tools failed.
 * Money and tokens are summed at the leaves (each run's own thoughts), so a tree of runs counts once.
 */
import type { Database } from '@pawl/db';
import { runIdFrom } from '../retention/period.ts';

export type AggregateFilter = {
  app: string;
  /** ISO times. */
  from: string;
  to: string;
  bucket: 'hour' | 'day';
  agent?: string | undefined;
  user?: string | undefined;
  session?: string | undefined;
  source?: string | undefined;
};

export type RunFigures = {
  bucket: Date;
  runs: string;
  ended: string;
  tokens: string;
  cost_nano_usd: string;
  p50_ms: number | null;
  p95_ms: number | null;
};
export type StopFigures = { bucket: Date; stop_reason: string; runs: string };
export type ToolFigures = {
  bucket: Date;
  tool: string;
  calls: string;
  failures: string;
  denied: string;
  p50_ms: number;
  p95_ms: number;
};

/** How far a run's start may be from the time in its id. */
const birthSlackMs = 604_800_000;
const toolsMax = 10_000;

/** The three kinds of figures of one range. */
export async function readAggregates(
  database: Database,
  filter: AggregateFilter,
): Promise<{ runs: RunFigures[]; stops: StopFigures[]; tools: ToolFigures[] }> {
  const { conditions, values } = conditionsOf(filter);
  const bucket = `date_trunc('${filter.bucket}', listed_at, 'UTC')`;
  const durationMs = `extract(epoch from ended_at - started_at) * 1000`;
  const [runs, stops, tools] = await Promise.all([
    database.query<RunFigures>(
      `select ${bucket} as bucket, count(*) as runs, count(ended_at) as ended, sum(counted_tokens) as tokens,
              sum(counted_cost_nano_usd) as cost_nano_usd,
              percentile_cont(0.5) within group (order by ${durationMs})::float8 as p50_ms,
              percentile_cont(0.95) within group (order by ${durationMs})::float8 as p95_ms
       from traces.runs where ${conditions} group by 1 order by 1`,
      values,
    ),
    database.query<StopFigures>(
      `select ${bucket} as bucket, stop_reason, count(*) as runs from traces.runs
       where ${conditions} and stop_reason is not null group by 1, 2 order by 1, 2`,
      values,
    ),
    readTools(database, filter),
  ]);
  return { runs, stops, tools };
}

async function readTools(database: Database, filter: AggregateFilter): Promise<ToolFigures[]> {
  const { conditions, values } = conditionsOf(filter);
  return await database.query<ToolFigures>(
    `select date_trunc('${filter.bucket}', records.at, 'UTC') as bucket, records.tool, count(*) as calls,
            count(*) filter (where records.status in ('error', 'timeout', 'in_doubt')) as failures,
            count(*) filter (where records.status = 'denied') as denied,
            percentile_cont(0.5) within group (order by records.duration_ms)::float8 as p50_ms,
            percentile_cont(0.95) within group (order by records.duration_ms)::float8 as p95_ms
     from (select class, app, run_id from traces.runs where ${conditions}) as runs
     join traces.records on records.class = runs.class and records.app = runs.app and records.run_id = runs.run_id
     where records.kind = 'observed' and records.tool is not null
     group by 1, 2 order by 1, 2 limit ${toolsMax}`,
    values,
  );
}

const columns = { agent: 'agent', user: 'user_id', session: 'session', source: 'source' } as const;

function conditionsOf(filter: AggregateFilter): { conditions: string; values: unknown[] } {
  const values: unknown[] = [filter.app, filter.from, filter.to];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    'app = $1 and listed_at >= $2::timestamptz and listed_at < $3::timestamptz',
    `run_id >= ${bind(runIdFrom(Date.parse(filter.from) - birthSlackMs, ''))}`,
    `run_id < ${bind(runIdFrom(Date.parse(filter.to) + birthSlackMs, ''))}`,
  ];
  for (const [name, column] of Object.entries(columns)) {
    const wanted = filter[name as keyof typeof columns];
    if (wanted !== undefined) conditions.push(`${column} = ${bind(wanted)}`);
  }
  return { conditions: conditions.join(' and '), values };
}
