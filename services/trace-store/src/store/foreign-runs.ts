/** SQL of `traces.foreign_runs`: which run a trace of another agent is. */
import type { Database } from '@pawl/db';

/** The run of each trace: the one that it has, or the candidate. */
export async function giveRunIds(
  database: Database,
  app: string,
  candidates: readonly { traceId: string; runId: string }[],
): Promise<ReadonlyMap<string, string>> {
  if (candidates.length === 0) return new Map();
  const sorted = candidates.toSorted((left, right) => (left.traceId < right.traceId ? -1 : 1));
  const values = [app, sorted.map(({ traceId }) => traceId), sorted.map(({ runId }) => runId)];
  await database.query(
    `insert into traces.foreign_runs (app, trace_id, run_id)
     select $1, trace_id, run_id from unnest($2::text[], $3::text[]) as candidates (trace_id, run_id)
     on conflict (app, trace_id) do nothing`,
    values,
  );
  const rows = await database.query<{ trace_id: string; run_id: string }>(
    'select trace_id, run_id from traces.foreign_runs where app = $1 and trace_id = any ($2)',
    values.slice(0, 2),
  );
  return new Map(rows.map(({ trace_id, run_id }) => [trace_id, run_id]));
}
