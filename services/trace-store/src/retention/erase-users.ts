/**
 * Erasing users: every run that acted on a user's behalf, out of Postgres, out of the run log, and with it the whole results
 * of tools in the object store, and what other services keep of it and forget when they are asked.
 *
 * 1. A run is forgotten elsewhere and marked as erased, so that nothing of it is stored again; then the results that its rows
 *    name go, then its subjects from the log, and its rows last. A killed job goes on where it was.
 * 2. What is under legal hold stays and is counted. What still runs is erased once it has ended.
 * 3. The proof names no one: the hash of the ids of the erased runs, and what was found of them afterwards.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { removeCallResults, removeFact, type Bus } from '@pawl/bus';
import { streams, subjects, type Forgetting } from '@pawl/contracts';
import { factsInLog } from '../store/archived-runs.ts';
import {
  countLeft,
  finishErasure,
  markErased,
  noteProgress,
  openErasures,
  removeRun,
  runsToErase,
  type OpenErasure,
} from '../store/erasures.ts';
import { readRecords, type BodyLimits } from '../store/record-rows.ts';
import type { TraceTables } from '../store/trace-tables.ts';

export type EraseOptions = {
  tables: TraceTables;
  bus: Bus;
  /** Has other services forget; throws when one of them did not say that it has. */
  forgetElsewhere(what: Forgetting): Promise<void>;
};

/** Goes on with every erasure that is not finished. */
export async function eraseUsers(options: EraseOptions): Promise<void> {
  for (const erasure of await openErasures(options.tables.database)) await eraseUser(options, erasure);
}

async function eraseUser({ tables, bus, forgetElsewhere }: EraseOptions, erasure: OpenErasure): Promise<void> {
  const { database } = tables;
  for (;;) {
    const runIds = await runsToErase(database, erasure);
    if (runIds.length === 0) break;
    await forgetElsewhere({ app: erasure.app, runIds });
    for (const runId of runIds) {
      const key = { app: erasure.app, runId };
      await markErased(database, key, erasure.id);
      for (const ref of await resultsOf(tables, key)) await removeCallResults(bus, ref);
      // With their bodies, where those are too large for a message.
      for (const fact of await factsInLog(database, key)) await removeFact(bus, { ...key, ...fact });
      await bus.jsm.streams.purge(streams.runs, { filter: subjects.factsOfRun(key.app, runId) });
      await removeRun(database, key, erasure.id);
    }
  }
  const left = await countLeft(database, erasure);
  await noteProgress(database, erasure.id, left);
  if (left.runsActive + left.runsHeld > 0) return;
  await forgetElsewhere({ app: erasure.app, runIds: [], userId: erasure.user_id });
  await finishErasure(database, erasure.id, await proveErased(bus, left));
}

/** What an observation shows is short: no run's rows are too large to be read at once. */
const wholeBodies: BodyLimits = { bodyBytesMax: 1_048_576, totalBytesMax: 1_073_741_824 };
const observedSchema = z.object({ observation: z.object({ ref: z.string().nullable() }) });

/**
 * References of the run's own results: one of each call, which may have left pictures that its observation shows no more, and those that
 * observations name. An answer of a sub-run may name that run's: they go with it.
 */
async function resultsOf({ database }: TraceTables, key: { app: string; runId: string }): Promise<Set<string>> {
  const records = await readRecords(database, key, wholeBodies);
  const own = `${key.app}/${key.runId}/`;
  const refs = records.flatMap(({ kind, slot, body }) => {
    if (kind !== 'observed') return [];
    const named = body === null ? undefined : observedSchema.safeParse(JSON.parse(body)).data?.observation.ref;
    const [, m, i] = slot.split('.');
    return [`${own}${m}/${i}`, ...(named?.startsWith(own) ? [named] : [])];
  });
  return new Set(refs);
}

type Erased = { app: string; erased: readonly string[]; rowsLeft: number };

/** What an auditor can check again: which runs, as one hash, and that neither rows nor facts of them are left. */
async function proveErased(bus: Bus, { app, erased, rowsLeft }: Erased): Promise<string> {
  let factsLeft = 0;
  for (const runId of erased) {
    const { state } = await bus.jsm.streams.info(streams.runs, { subjects_filter: subjects.factsOfRun(app, runId) });
    factsLeft += Object.keys(state.subjects ?? {}).length;
  }
  const runIdsSha256 = createHash('sha256').update(erased.toSorted().join('\n')).digest('hex');
  return JSON.stringify({ runs: erased.length, runIdsSha256, rowsLeft, factsLeft });
}
