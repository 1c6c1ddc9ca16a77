/** SQL of `traces.erasures`: what was asked, what is still to do, how far it got. */
import { randomUUID } from 'node:crypto';
import { sha256 } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { RunKey } from './run-columns.ts';

export type OpenErasure = { id: string; app: string; user_id: string };

/** Runs that are looked for at once. */
const runsMax = 100;

/** Asks for an erasure; the same user asked for twice is erased once, as long as the first job goes on. Gives its id. */
export async function requestErasure(
  database: Database,
  erasure: { app: string; userId: string; requestedBy: string },
): Promise<string> {
  const [open] = await database.query<{ id: string }>(
    'select id from traces.erasures where app = $1 and user_sha256 = $2 and finished_at is null',
    [erasure.app, sha256(erasure.userId)],
  );
  if (open) return open.id;
  const id = `erasure_${randomUUID()}`;
  await database.query(
    'insert into traces.erasures (id, app, user_sha256, user_id, requested_by) values ($1, $2, $3, $4, $5)',
    [id, erasure.app, sha256(erasure.userId), erasure.userId, erasure.requestedBy],
  );
  return id;
}

export type ErasureRow = {
  id: string;
  user_sha256: string;
  requested_by: string;
  requested_at: Date;
  finished_at: Date | null;
  runs_erased: string;
  records_erased: string;
  runs_held: string;
  runs_active: string;
  proof: string | null;
};

const shown =
  'id, user_sha256, requested_by, requested_at, finished_at, runs_erased, records_erased, runs_held, runs_active, proof';

export async function readErasures(database: Database, app: string, id?: string): Promise<ErasureRow[]> {
  return await database.query<ErasureRow>(
    `select ${shown} from traces.erasures where app = $1 and ($2::text is null or id = $2)
     order by requested_at desc limit 200`,
    [app, id ?? null],
  );
}

export function openErasures(database: Database): Promise<OpenErasure[]> {
  return database.query<OpenErasure>(
    'select id, app, user_id from traces.erasures where finished_at is null order by requested_at limit 100',
  );
}

/** Runs of the user that nothing holds: those that have ended, and those of other agents, of which nobody knows whether they will. */
export async function runsToErase(database: Database, { app, user_id }: OpenErasure): Promise<string[]> {
  const rows = await database.query<{ run_id: string }>(
    `select run_id from traces.runs
     where app = $1 and user_id = $2 and (status = 'ended' or source = 'otlp') and not traces.is_held(app, run_id, user_id) limit ${runsMax}`,
    [app, user_id],
  );
  return rows.map(({ run_id }) => run_id);
}

/** From now on nothing of the run is stored. */
export async function markErased(database: Database, { app, runId }: RunKey, erasureId: string): Promise<void> {
  await database.query(
    'insert into traces.erased_runs (app, run_id, erasure_id) values ($1, $2, $3) on conflict (app, run_id) do nothing',
    [app, runId, erasureId],
  );
}

/** Deletes all rows of a run and counts them. */
export async function removeRun(database: Database, { app, runId }: RunKey, erasureId: string): Promise<void> {
  await database.transaction(async (client) => {
    // Whoever writes to the run holds its row; what comes after finds the mark.
    await client.query('select from traces.runs where app = $1 and run_id = $2 for update', [app, runId]);
    await client.query('delete from traces.contents where app = $1 and run_id = $2', [app, runId]);
    await client.query('delete from traces.rejected where app = $1 and run_id = $2', [app, runId]);
    const records = await client.query('delete from traces.records where app = $1 and run_id = $2 returning slot', [
      app,
      runId,
    ]);
    const runs = await client.query('delete from traces.runs where app = $1 and run_id = $2 returning run_id', [
      app,
      runId,
    ]);
    await client.query(
      'update traces.erasures set runs_erased = runs_erased + $2, records_erased = records_erased + $3 where id = $1',
      [erasureId, runs.length, records.length],
    );
  });
}

export type Left = {
  app: string;
  runsActive: number;
  runsHeld: number;
  /** The runs that the job has erased. */
  erased: string[];
  /** Rows of them that are there all the same. */
  rowsLeft: number;
};

/** What is left of a user, and of the runs that were erased. */
export async function countLeft(database: Database, erasure: OpenErasure): Promise<Left> {
  const [left] = await database.query<{ held: string; active: string }>(
    `select count(*) filter (where traces.is_held(app, run_id, user_id)) as held,
            count(*) filter (where not traces.is_held(app, run_id, user_id)) as active
     from traces.runs where app = $1 and user_id = $2`,
    [erasure.app, erasure.user_id],
  );
  const erased = await database.query<{ run_id: string }>(
    'select run_id from traces.erased_runs where erasure_id = $1',
    [erasure.id],
  );
  const [rows] = await database.query<{ count: string }>(
    `select (select count(*) from traces.runs where app = $1 and run_id = any ($2))
          + (select count(*) from traces.records where app = $1 and run_id = any ($2))
          + (select count(*) from traces.contents where app = $1 and run_id = any ($2)) as count`,
    [erasure.app, erased.map(({ run_id }) => run_id)],
  );
  return {
    app: erasure.app,
    runsActive: Number(left?.active ?? 0),
    runsHeld: Number(left?.held ?? 0),
    erased: erased.map(({ run_id }) => run_id),
    rowsLeft: Number(rows?.count ?? 0),
  };
}

export async function noteProgress(database: Database, id: string, left: Left): Promise<void> {
  await database.query('update traces.erasures set runs_held = $2, runs_active = $3 where id = $1', [
    id,
    left.runsHeld,
    left.runsActive,
  ]);
}

/** Closes the job with its proof and forgets whom it was about, also where notes of reads name them. */
export async function finishErasure(database: Database, id: string, proof: string): Promise<void> {
  await database.query(
    `update traces.reads set detail = replace(detail, to_json(erasures.user_id)::text, '"sha256:' || user_sha256 || '"')
     from traces.erasures where erasures.id = $1 and reads.app = erasures.app
       and position(to_json(erasures.user_id)::text in detail) > 0`,
    [id],
  );
  await database.query('update traces.erasures set finished_at = now(), user_id = null, proof = $2 where id = $1', [
    id,
    proof,
  ]);
}
