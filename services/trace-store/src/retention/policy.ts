/**
 * What is kept how long: days by class, from the configuration, and the class of each app's runs, from Postgres.
 * Read at the start and every minute; a change counts for runs born later than every replica has read it.
 */
import type { Database } from '@pawl/db';
import { placeOf, type ClassChange, type Place } from './period.ts';

/** How often what apps want is read again. */
export const policyRefreshMs = 60_000;
/** A change of class counts from this much later on. */
export const changeDelayMs = 300_000;

export type Policy = {
  placeOf(run: { app: string; runId: string }): Place;
  /** Days that a class is kept, or undefined for ever. */
  keptDays(name: string): number | undefined;
  classes(): string[];
  /** Reads again what apps want. */
  refresh(): Promise<void>;
};

/** `keptDays` by class. Nothing is read before `refresh`. */
export function createPolicy(options: {
  database: Database;
  keptDays: ReadonlyMap<string, number | undefined>;
}): Policy {
  const { database, keptDays } = options;
  let changes: ClassChange[] = [];
  return {
    placeOf: (run) => placeOf(run, changes),
    keptDays: (name) => keptDays.get(name),
    classes: () => [...keptDays.keys()],
    async refresh() {
      const rows = await database.query<{ app: string; since: Date; class: string }>(
        'select app, since, class from traces.app_classes',
      );
      changes = rows.map((row) => ({ app: row.app, sinceMs: row.since.getTime(), class: row.class }));
    },
  };
}
