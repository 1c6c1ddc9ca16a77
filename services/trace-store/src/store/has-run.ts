/** SQL of a question: is anything kept of a run? */
import type { Database } from '@pawl/db';
import type { RunKey } from './run-columns.ts';

export async function hasRun(database: Database, { app, runId }: RunKey): Promise<boolean> {
  const rows = await database.query('select from traces.runs where app = $1 and run_id = $2 limit 1', [app, runId]);
  return rows.length > 0;
}
