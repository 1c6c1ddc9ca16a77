/** SQL of the archive step. */
import type { Database } from '@pawl/db';
import type { RunKey } from './run-columns.ts';

const runsMax = 500;

/** Runs from the log that ended before a time, are stored up to their end, and had no message that could not be kept. */
export async function runsToArchive(
  database: Database,
  { before, sequence }: { before: Date; sequence: number },
): Promise<RunKey[]> {
  const rows = await database.query<{ app: string; run_id: string }>(
    `select app, run_id from traces.runs
     where ended_at < $1 and archived_at is null and source = 'pawl'
       and exists (select from traces.records
                   where records.class = runs.class and records.app = runs.app and records.run_id = runs.run_id
                     and records.slot = 'ended' and records.sequence <= $2)
       and not exists (select from traces.rejected where rejected.app = runs.app and rejected.run_id = runs.run_id)
     order by ended_at limit ${runsMax}`,
    [before, sequence],
  );
  return rows.map(({ app, run_id }) => ({ app, runId: run_id }));
}

export async function markArchived(database: Database, { app, runId }: RunKey): Promise<void> {
  await database.query('update traces.runs set archived_at = now() where app = $1 and run_id = $2', [app, runId]);
}
