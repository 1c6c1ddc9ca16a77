/**
 * SQL that counts figures from runs and records. The one place that says what is counted: it fills the tables of figures, and
 * it tells what they do not hold.
 */
import { bornWithin, type Bind } from '../retention/period.ts';

/** Whose runs, and of which time. */
export type Counted = {
  app: string;
  /** ISO times: listed at or after, and before. */
  from: string;
  to: string;
  agent?: string | undefined;
  user?: string | undefined;
  session?: string | undefined;
  source?: string | undefined;
};

/** Microseconds of a run that has ended. */
const runUs = `case when status = 'ended' then greatest(0, round(extract(epoch from ended_at - started_at) * 1e6)) end`;
/** Classes are a tenth wide. */
const classOf = (us: string) => `floor(ln(greatest(${us}, 1)::float8) / ln(1.1::float8))::bigint`;

/** Rows (hour, agent, source, stop_reason, duration_class, runs, ended, tokens, cost_nano_usd, duration_us), one for each run. */
export function selectRuns(counted: Counted, bind: Bind): string {
  return `select date_trunc('hour', listed_at, 'UTC') as hour, agent, source, stop_reason, ${classOf('us')} as duration_class,
                 1 as runs, (status = 'ended')::int as ended, counted_tokens as tokens, counted_cost_nano_usd as cost_nano_usd,
                 coalesce(us, 0) as duration_us
          from (select *, ${runUs} as us from traces.runs where ${conditionsOf(counted, bind)}) as runs`;
}

/** Rows (hour, agent, source, tool, called_hour, duration_class, calls, failures, denied, duration_us), one for each call. */
export function selectCalls(counted: Counted, bind: Bind): string {
  return `select hour, agent, source, tool, called_hour, ${classOf('us')} as duration_class, 1 as calls,
                 (status in ('error', 'timeout', 'in_doubt'))::int as failures, (status = 'denied')::int as denied,
                 us as duration_us
          from (select date_trunc('hour', runs.listed_at, 'UTC') as hour, runs.agent, runs.source, records.tool, records.status,
                       date_trunc('hour', records.at, 'UTC') as called_hour, round(records.duration_ms * 1000)::numeric as us
                from (select * from traces.runs where ${conditionsOf(counted, bind)}) as runs
                join traces.records on records.class = runs.class and records.app = runs.app and records.run_id = runs.run_id
                where ${bornWithin(counted, bind, { nowMs: Date.now(), column: 'records.run_id' }).join(' and ')}
                  and records.kind = 'observed' and records.tool is not null and not records.is_repeat) as calls`;
}

const columns = { agent: 'agent', user: 'user_id', session: 'session', source: 'source' } as const;

function conditionsOf(counted: Counted, bind: Bind): string {
  const { app, from, to } = counted;
  return [
    `app = ${bind(app)}`,
    `listed_at >= ${bind(from)}::timestamptz`,
    `listed_at < ${bind(to)}::timestamptz`,
    ...bornWithin({ from, to }, bind, { nowMs: Date.now() }),
    ...Object.entries(columns).flatMap(([name, column]) => {
      const wanted = counted[name as keyof typeof columns];
      return wanted === undefined ? [] : [`${column} = ${bind(wanted)}`];
    }),
  ].join(' and ');
}
