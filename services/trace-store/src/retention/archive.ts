/**
 * The archive step: finished runs that are safely in Postgres leave the run log, so that a fold of the log stays short.
 *
 * 1. Only what was stored is purged: up to the position below which every message was acknowledged after its commit.
 * 2. A run with a message that could not be kept stays in the log, where it can still be looked at.
 * 3. How far everything is stored is published, for whoever wants to read an ended run from Postgres instead.
 */
import type { Bus } from '@pawl/bus';
import { buckets, streams, subjects } from '@pawl/contracts';
import { Kvm } from '@nats-io/kv';
import { consumerName } from '../facts.ts';
import { markArchived, runsToArchive } from '../store/archived-runs.ts';
import type { TraceTables } from '../store/trace-tables.ts';

/** The key in the bucket of settings: `{"sequence", "at"}`, every fact up to `sequence` is in Postgres. */
export const storedKey = 'traces_stored';

export type Archive = {
  /** Publishes how far facts are stored. Gives the position. */
  publishProgress(): Promise<number>;
  /** Purges runs that ended longer ago than `afterMs`. Gives how many. */
  purgeEnded(options: { afterMs: number }): Promise<number>;
};

export function createArchive({ bus, tables }: { bus: Bus; tables: TraceTables }): Archive {
  let published = -1;
  const storedUpTo = async () => (await bus.jsm.consumers.info(streams.runs, consumerName)).ack_floor.stream_seq;
  return {
    async publishProgress() {
      const sequence = await storedUpTo();
      if (sequence === published) return sequence;
      const settings = await new Kvm(bus.js).open(buckets.settings);
      await settings.put(storedKey, JSON.stringify({ sequence, at: new Date(tables.nowMs()).toISOString() }));
      published = sequence;
      return sequence;
    },
    async purgeEnded({ afterMs }) {
      const sequence = await storedUpTo();
      const before = new Date(tables.nowMs() - afterMs);
      const runs = await runsToArchive(tables.database, { before, sequence });
      for (const run of runs) {
        await bus.jsm.streams.purge(streams.runs, {
          filter: subjects.factsOfRun(run.app, run.runId),
          seq: sequence + 1,
        });
        await markArchived(tables.database, run);
      }
      return runs.length;
    },
  };
}
