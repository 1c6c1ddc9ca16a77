/** SQL of `traces.erased_runs`. */
import type { Queryable } from '@pawl/db';
import type { RunKey } from './run-columns.ts';
import { runKeyOf } from './run-rows.ts';

/** Which of the runs were erased, by `runKeyOf`. */
export async function readErased(client: Queryable, keys: readonly RunKey[]): Promise<ReadonlySet<string>> {
  const rows = await client.query<{ app: string; run_id: string }>(
    'select app, run_id from traces.erased_runs where (app, run_id) in (select * from unnest($1::text[], $2::text[]))',
    [keys.map(({ app }) => app), keys.map(({ runId }) => runId)],
  );
  return new Set(rows.map(({ app, run_id }) => runKeyOf({ app, runId: run_id })));
}
