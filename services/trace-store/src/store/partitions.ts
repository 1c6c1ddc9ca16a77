/** The tables of classes and weeks: made before they are needed, dropped when they have expired. */
import type { Database, Queryable } from '@pawl/db';
import { boundsOf, suffixOf, type Place } from '../retention/period.ts';

export type Partitions = {
  /** Makes what is missing of the places' tables; costs nothing for those that are known. */
  ensure(places: readonly Place[]): Promise<void>;
  /** Forgets what is known, so that the next `ensure` looks again. */
  forget(): void;
};

/** One process's knowledge of which tables there are. */
export function createPartitions(database: Database): Partitions {
  const known = new Set<string>();
  return {
    async ensure(places) {
      const missing = places.filter((place) => !known.has(suffixOf(place)));
      if (missing.length === 0) return;
      await makeTables(database, missing);
      for (const place of missing) known.add(suffixOf(place));
    },
    forget: () => known.clear(),
  };
}

/** Under a lock, so that two replicas never make the same table; safe to repeat. */
async function makeTables(database: Database, places: readonly Place[]): Promise<void> {
  await database.transaction(async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtextextended('pawl traces partitions', 0))`);
    for (const place of places) {
      const { lower, upper } = boundsOf(place.week);
      await client.query('select traces.make_class($1)', [place.class]);
      await client.query('select traces.make_week($1, $2, $3, $4)', [place.class, `w${place.week}`, lower, upper]);
    }
  });
}

/** The weeks that have tables, of all classes. */
export async function listPlaces(database: Database): Promise<Place[]> {
  const rows = await database.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'traces'::regnamespace and relkind = 'r' and relname ~ '^runs_.+_w[0-9]+$' order by relname`,
  );
  return rows.flatMap(({ name }) => {
    const match = /^runs_(.+)_w(\d+)$/.exec(name);
    return match?.[1] === undefined ? [] : [{ class: match[1], week: Number(match[2]) }];
  });
}

/** The tables of a place. */
export function tablesOf(place: Place): { runs: string; records: string; contents: string } {
  const suffix = suffixOf(place);
  return { runs: `traces.runs_${suffix}`, records: `traces.records_${suffix}`, contents: `traces.contents_${suffix}` };
}

/**
 * Keeps the tables of a class from being dropped until the transaction ends. It comes before anything else: writing to the table of a
 * week looks at its parents, too, and whoever drops a week locks the parents first; so nobody waits in a circle.
 */
export async function holdTables(client: Queryable, { class: name }: Place): Promise<void> {
  const parents = ['runs', 'records', 'contents'].map((parent) => `traces.${parent}_${name}`);
  await client.query(`lock table only ${parents.join(', only ')} in access share mode`);
}
