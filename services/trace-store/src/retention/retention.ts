/**
 * Keeping and dropping by weeks. Tables of the weeks to come are made ahead; what has outlived its class goes by dropping
 * its tables, never row by row. Safe to run in several replicas at once and to repeat.
 */
import { isExpired, suffixOf, weekOf, type Place } from './period.ts';
import { forgetNotes } from '../store/old-notes.ts';
import { listPlaces } from '../store/partitions.ts';
import type { TraceTables } from '../store/trace-tables.ts';

/** How many weeks are made ahead of the one that runs. */
const weeksAhead = 2;
const releasedRunsMax = 500;
/** How long it is kept who read what, in days. */
const readsKeptDays = 400;
/** Notes about runs outlive them by this much. */
const notesSlackDays = 14;
const dayMs = 86_400_000;
const weekMs = 7 * dayMs;

export type RetentionOutcome = { dropped: string[]; runsHeld: number; runsReleased: number };

/** Makes the tables of the weeks to come and drops those of weeks that have expired. */
export async function keepAndDrop(tables: TraceTables): Promise<RetentionOutcome> {
  const { policy, partitions } = tables;
  const thisWeek = weekOf(tables.nowMs());
  const ahead = policy
    .classes()
    .flatMap((name) =>
      Array.from({ length: weeksAhead + 1 }, (_, at): Place => ({ class: name, week: thisWeek + at })),
    );
  await partitions.ensure(ahead);
  const outcome: RetentionOutcome = { dropped: [], runsHeld: 0, runsReleased: await dropReleased(tables) };
  for (const place of await listPlaces(tables.database)) {
    if (!isExpired(place.week, policy.keptDays(place.class), tables.nowMs())) continue;
    outcome.runsHeld += await dropWeek(tables, place);
    outcome.dropped.push(suffixOf(place));
  }
  if (outcome.dropped.length > 0) partitions.forget();
  return outcome;
}

/** Rather gives up than makes others wait behind its lock; the next round tries again. */
async function dropWeek(tables: TraceTables, place: Place): Promise<number> {
  return await tables.database.transaction(async (client) => {
    await client.query(`select set_config('lock_timeout', '2s', true)`);
    await client.query(`select pg_advisory_xact_lock(hashtextextended('pawl traces partitions', 0))`);
    const [row] = await client.query<{ moved: string }>('select traces.drop_week($1, $2) as moved', [
      place.class,
      `w${place.week}`,
    ]);
    await client.query('select traces.note_week_dropped($1, $2)', [
      new Date(place.week * weekMs),
      new Date((place.week + 1) * weekMs),
    ]);
    return Number(row?.moved ?? 0);
  });
}

async function dropReleased(tables: TraceTables): Promise<number> {
  return await tables.database.transaction(async (client) => {
    const [row] = await client.query<{ dropped: string }>('select traces.drop_released($1) as dropped', [
      releasedRunsMax,
    ]);
    return Number(row?.dropped ?? 0);
  });
}

/** Forgets notes about runs that no class keeps any more, and who read what more than a year ago. */
export async function forgetOldNotes(tables: TraceTables): Promise<void> {
  const { database, policy } = tables;
  const daysAgo = (days: number) => new Date(tables.nowMs() - days * dayMs);
  await forgetNotes(database, 'reads', daysAgo(readsKeptDays));
  const kept = policy.classes().map((name) => policy.keptDays(name));
  if (kept.some((days) => days === undefined)) return;
  const longest = Math.max(...kept.map((days) => days ?? 0)) + notesSlackDays;
  await forgetNotes(database, 'foreign_runs', daysAgo(longest));
  await forgetNotes(database, 'rejected', daysAgo(longest));
}
