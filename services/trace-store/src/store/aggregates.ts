/**
 * SQL of figures by time: what runs cost, how long they took, why they stopped, how often tools failed.
 * Money and tokens are summed at the leaves (each run's own thoughts), so a tree of runs counts once. Whole hours come from
 * the tables of figures; the edges of a range, hours that have changed, and what figures can't be asked for, from the rows.
 */
import type { Database } from '@pawl/db';
import { coverageOf, type Coverage } from '../figures/coverage.ts';
import type { Bind } from '../retention/period.ts';
import { selectCalls, selectRuns, type Counted } from './count-figures.ts';
import { readKnown } from './figures.ts';

export type AggregateFilter = Counted & { bucket: 'hour' | 'day' };

/** A group of runs of a bucket: with one stop reason and one class of duration. Sums as digits. */
export type RunGroup = {
  bucket: Date;
  stop_reason: string | null;
  duration_class: string | null;
  runs: string;
  ended: string;
  tokens: string;
  cost_nano_usd: string;
  duration_us: string;
};
/** A group of calls of a bucket: of one tool and one class of duration. */
export type CallGroup = {
  bucket: Date;
  tool: string;
  duration_class: string;
  calls: string;
  failures: string;
  denied: string;
  duration_us: string;
};

/** Groups of calls at the most, whatever strangers name their tools. */
const callGroupsMax = 200_000;

/** The groups of a range, buckets in order. */
export async function readAggregates(
  database: Database,
  filter: AggregateFilter,
): Promise<{ runs: RunGroup[]; calls: CallGroup[] }> {
  const coverage = await coverageIn(database, filter);
  const ask = async <T extends object>(statement: (bind: Bind) => string): Promise<T[]> => {
    const values: unknown[] = [];
    const text = statement((value) => `$${values.push(value)}`);
    return await database.query<T>(text, values);
  };
  const [runs, calls] = await Promise.all([
    ask<RunGroup>(
      (bind) => `
        select date_trunc('${filter.bucket}', hour, 'UTC') as bucket, stop_reason, duration_class, sum(runs) as runs,
               sum(ended) as ended, sum(tokens) as tokens, sum(cost_nano_usd) as cost_nano_usd, sum(duration_us) as duration_us
        from (${sources(coverage, filter, { table: 'run_figures', select: selectRuns, bind })}) as runs
        group by 1, 2, 3 order by 1, 2, 3`,
    ),
    ask<CallGroup>(
      (bind) => `
        select date_trunc('${filter.bucket}', called_hour, 'UTC') as bucket, tool, duration_class, sum(calls) as calls,
               sum(failures) as failures, sum(denied) as denied, sum(duration_us) as duration_us
        from (${sources(coverage, filter, { table: 'tool_figures', select: selectCalls, bind })}) as calls
        group by 1, 2, 3 order by 1, 2, 3 limit ${callGroupsMax}`,
    ),
  ]);
  return { runs, calls };
}

/** Figures know neither users nor sessions: their runs are few, and counted now. */
async function coverageIn(database: Database, filter: AggregateFilter): Promise<Coverage> {
  const range = { fromMs: Date.parse(filter.from), toMs: Date.parse(filter.to) };
  if (filter.user !== undefined || filter.session !== undefined) return coverageOf(range, undefined, []);
  const { counted, outdatedMs } = await readKnown(database, filter);
  return coverageOf(range, counted, outdatedMs);
}

const columnsOf = {
  run_figures: 'hour, agent, source, stop_reason, duration_class, runs, ended, tokens, cost_nano_usd, duration_us',
  tool_figures: 'hour, agent, source, tool, called_hour, duration_class, calls, failures, denied, duration_us',
} as const;

type Source = {
  table: keyof typeof columnsOf;
  select(counted: Counted, bind: Bind): string;
  bind: Bind;
};

/** What was counted, and what is counted now, as one. */
function sources(coverage: Coverage, filter: AggregateFilter, { table, select, bind }: Source): string {
  const iso = (ms: number) => new Date(ms).toISOString();
  const direct = coverage.direct.map((span) => select({ ...filter, from: iso(span.fromMs), to: iso(span.toMs) }, bind));
  if (!coverage.counted) return direct.join(' union all ');
  const { agent, source } = filter;
  const isTotal = agent === undefined && source === undefined;
  const conditions = [
    `app = ${bind(filter.app)} and is_total = ${isTotal}`,
    `hour >= ${bind(iso(coverage.counted.fromMs))} and hour < ${bind(iso(coverage.counted.toMs))}`,
    `hour <> all (${bind(coverage.outdated.map(iso))}::timestamptz[])`,
    ...(agent === undefined ? [] : [`agent = ${bind(agent)}`]),
    ...(source === undefined ? [] : [`source = ${bind(source)}`]),
  ];
  const counted = `select ${columnsOf[table]} from traces.${table} where ${conditions.join(' and ')}`;
  return [counted, ...direct].join(' union all ');
}
