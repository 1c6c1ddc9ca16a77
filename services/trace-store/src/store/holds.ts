/** SQL of `traces.holds`. */
import { randomUUID } from 'node:crypto';
import type { Database } from '@pawl/db';

export type HoldRow = {
  id: string;
  run_id: string | null;
  user_id: string | null;
  reason: string;
  by: string;
  at: Date;
};

export type NewHold = { app: string; runId: string | null; userId: string | null; reason: string; by: string };

/** Puts a run, a user's runs, or all runs of an app under legal hold. */
export async function addHold(database: Database, hold: NewHold): Promise<HoldRow> {
  const [row] = await database.query<HoldRow>(
    `insert into traces.holds (id, app, run_id, user_id, reason, by) values ($1, $2, $3, $4, $5, $6)
     returning id, run_id, user_id, reason, by, at`,
    [`hold_${randomUUID()}`, hold.app, hold.runId, hold.userId, hold.reason, hold.by],
  );
  if (!row) throw new TypeError('an insert gave no row');
  return row;
}

export function listHolds(database: Database, app: string): Promise<HoldRow[]> {
  return database.query<HoldRow>(
    'select id, run_id, user_id, reason, by, at from traces.holds where app = $1 order by at, id limit 1000',
    [app],
  );
}

/** Whether there was one to lift. */
export async function liftHold(database: Database, app: string, id: string): Promise<boolean> {
  const rows = await database.query('delete from traces.holds where app = $1 and id = $2 returning id', [app, id]);
  return rows.length > 0;
}
