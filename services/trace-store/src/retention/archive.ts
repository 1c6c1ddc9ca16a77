/**
 * The archive step: finished runs that are safely in Postgres leave the run log, so that a fold of the log stays short. Their
 * facts are deleted one by one, by position: a purge by subject takes a server longer the more is in the log.
 *
 * 1. Only what was stored is deleted: up to the position below which every message was acknowledged after its commit.
 * 2. A run with a message that could not be kept stays in the log, where it can still be looked at.
 * 3. How far everything is stored is published, for whoever wants to read an ended run from Postgres instead.
 */
import { removeFact, type Bus } from '@pawl/bus';
import { buckets, streams, subjects } from '@pawl/contracts';
import { Kvm } from '@nats-io/kv';
import { workThrough } from '../batches.ts';
import { consumerName } from '../facts.ts';
import { factsInLog, markArchived, takeEnded, type StoredFact } from '../store/archived-runs.ts';
import type { RunKey } from '../store/run-columns.ts';
import type { TraceTables } from '../store/trace-tables.ts';

/** The key in the bucket of settings: `{"sequence", "at"}`, every fact up to `sequence` is in Postgres. */
export const storedKey = 'traces_stored';
const runsAtOnceMax = 4;
const factsAtOnceMax = 50;

export type Archive = {
  /** Publishes how far facts are stored. Gives the position. */
  publishProgress(): Promise<number>;
  /** Takes runs out of the log that ended longer ago than `afterMs`. Gives how many. */
  removeEnded(options: { afterMs: number }): Promise<number>;
};

export function createArchive({ bus, tables }: { bus: Bus; tables: TraceTables }): Archive {
  let published = -1;
  const storedUpTo = async () => (await bus.jsm.consumers.info(streams.runs, consumerName)).ack_floor.stream_seq;
  const removeRun = async (run: RunKey, upTo: number) => {
    // Work that still waits is nobody's any more, and whoever took it up would find no end of its run in the log (I10).
    const { app, runId } = run;
    await bus.jsm.streams.purge(streams.act, { filter: subjects.actOfRun(app, runId) });
    await bus.jsm.streams.purge(streams.think, { filter: subjects.thinkOfRun(app, runId) });
    const [first, ...others] = await factsInLog(tables.database, run);
    // Without its first fact a run is none: nobody who reads the log meanwhile takes it for one that goes on.
    let isGone = first !== undefined && (await removeFact(bus, { ...run, ...first }));
    const remove = async (fact: StoredFact) => {
      if (!(await removeFact(bus, { ...run, ...fact }))) isGone = false;
    };
    if (isGone) await workThrough(others, { atOnceMax: factsAtOnceMax, work: remove });
    if (!isGone) {
      await bus.jsm.streams.purge(streams.runs, { filter: subjects.factsOfRun(run.app, run.runId), seq: upTo + 1 });
    }
  };
  return {
    async publishProgress() {
      const sequence = await storedUpTo();
      if (sequence === published) return sequence;
      const settings = await new Kvm(bus.js).open(buckets.settings);
      await settings.put(storedKey, JSON.stringify({ sequence, at: new Date(tables.nowMs()).toISOString() }));
      published = sequence;
      return sequence;
    },
    async removeEnded({ afterMs }) {
      const ended = { sequence: await storedUpTo(), before: new Date(tables.nowMs() - afterMs) };
      let count = 0;
      for (let found = Infinity; found > 0; count += found) {
        found = await tables.database.transaction(async (client) => {
          const runs = await takeEnded(client, ended);
          const remove = (run: RunKey) => removeRun(run, ended.sequence);
          await workThrough(runs, { atOnceMax: runsAtOnceMax, work: remove });
          await markArchived(client, runs);
          return runs.length;
        });
      }
      return count;
    },
  };
}
