/** SQL that forgets small notes once what they are about is long gone. Bounded, so that no round takes long. */
import type { Database } from '@pawl/db';

const rowsMax = 5_000;

const ages = {
  /** Which run a trace of another agent was. */
  foreign_runs: 'seen_at',
  /** Messages that could not be kept. */
  rejected: 'seen_at',
  /** Who read what. */
  reads: 'minute',
} as const;

/** Deletes notes from before a time, up to a bound. Gives how many. */
export async function forgetNotes(database: Database, table: keyof typeof ages, before: Date): Promise<number> {
  const rows = await database.query(
    `delete from traces.${table} where ctid = any (array(
       select ctid from traces.${table} where ${ages[table]} < $1 limit ${rowsMax})) returning 1 as one`,
    [before],
  );
  return rows.length;
}
