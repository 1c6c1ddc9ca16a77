/** Reports over the books: what an app's model calls cost, by chosen columns. */
import type { Queryable } from '@pawl/db';

/** What a report can be grouped by; hours and days are those of UTC. */
export const spendColumns = {
  app: 'app',
  agent: 'agent',
  model: 'model',
  provider: 'provider',
  purpose: 'purpose',
  route: 'route',
  user: 'user_id',
  run: 'coalesce(for_run_id, run_id)',
  day: `to_char(at at time zone 'UTC', 'YYYY-MM-DD')`,
  hour: `to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
} as const;

export type SpendColumn = keyof typeof spendColumns;

export type SpendRow = {
  by: Partial<Record<SpendColumn, string | null>>;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** Calls whose cost is an estimate. */
  estimatedCalls: number;
  costNanoUsd: bigint;
};

const rowsMax = 10_000;

export type SpendOf = {
  /** Absent: all. */
  apps?: readonly string[] | undefined;
  agent?: string | undefined;
  user?: string | undefined;
  by: readonly SpendColumn[];
  from: Date;
  to: Date;
  /** Default and most: 10,000. */
  rowsMax?: number;
};

/** The sums from `from` (inclusive) to `to` (exclusive), dearest first. */
export async function readSpend(database: Queryable, of: SpendOf): Promise<SpendRow[]> {
  const columns = of.by.map((column) => `${spendColumns[column]} as "by_${column}"`);
  const positions = of.by.map((_column, position) => position + 1);
  const rows = await database.query<Record<string, string | null>>(
    `select ${[...columns, ''].join(', ')}
       count(*) as calls, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
       count(*) filter (where basis = 'estimated') as estimated_calls, sum(cost_nano_usd) as cost_nano_usd
     from gateway.ledger
     where ($1::text[] is null or app = any($1)) and at >= $2 and at < $3
       and ($4::text is null or agent = $4) and ($5::text is null or user_id = $5)
     ${positions.length > 0 ? `group by ${positions.join(', ')}` : 'having count(*) > 0'}
     order by cost_nano_usd desc, 1 limit ${Math.min(of.rowsMax ?? rowsMax, rowsMax)}`,
    [of.apps ?? null, of.from, of.to, of.agent ?? null, of.user ?? null],
  );
  return rows.map((row) => ({
    by: Object.fromEntries(of.by.map((column) => [column, row[`by_${column}`] ?? null])),
    calls: Number(row['calls']),
    inputTokens: Number(row['input_tokens']),
    outputTokens: Number(row['output_tokens']),
    estimatedCalls: Number(row['estimated_calls']),
    costNanoUsd: BigInt(row['cost_nano_usd'] ?? 0),
  }));
}
