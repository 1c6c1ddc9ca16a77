/** SQL of the archive step. */
import type { Database, Queryable } from '@pawl/db';
import type { RunKey } from './run-columns.ts';

const runsMax = 50;

/**
 * Runs from the log that ended before a time, are stored up to their end, and had no message that could not be kept. Until the
 * transaction ends no other replica takes them.
 */
export async function takeEnded(
  client: Queryable,
  { before, sequence }: { before: Date; sequence: number },
): Promise<RunKey[]> {
  const rows = await client.query<{ app: string; run_id: string }>(
    `select app, run_id from traces.runs
     where ended_at < $1 and archived_at is null and source = 'pawl'
       and exists (select from traces.records
                   where records.class = runs.class and records.app = runs.app and records.run_id = runs.run_id
                     and records.slot = 'ended' and records.sequence <= $2)
       and not exists (select from traces.rejected where rejected.app = runs.app and rejected.run_id = runs.run_id)
     order by ended_at limit ${runsMax} for update of runs skip locked`,
    [before, sequence],
  );
  return rows.map(({ app, run_id }) => ({ app, runId: run_id }));
}

/** A fact of the log, and the position that it was stored from. */
export type StoredFact = { sequence: number; slot: string };

/** All facts of a run that were stored, its first one first. */
export async function factsInLog(database: Database, { app, runId }: RunKey): Promise<StoredFact[]> {
  const rows = await database.query<{ sequence: string; slot: string }>(
    `select sequence, slot from traces.records where app = $1 and run_id = $2 order by slot <> 'started', sequence`,
    [app, runId],
  );
  return rows.map(({ sequence, slot }) => ({ sequence: Number(sequence), slot }));
}

export async function markArchived(client: Queryable, runs: readonly RunKey[]): Promise<void> {
  if (runs.length === 0) return;
  await client.query(
    `update traces.runs set archived_at = now()
     where (app, run_id) in (select * from unnest($1::text[], $2::text[]))`,
    [runs.map(({ app }) => app), runs.map(({ runId }) => runId)],
  );
}
