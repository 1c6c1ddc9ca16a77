/** Looks into a run's log whether a write may still start (I10). Asks the stream's leader, so the answer isn't stale. */
import type { Bus } from '@pawl/bus';
import { partitionOf, streams, subjects } from '@pawl/contracts';

export type RunLog = {
  /** Why no write may start for a run any more, or undefined. */
  stopOf(app: string, runId: string): Promise<'cancelled' | 'paused' | 'ended' | undefined>;
};

export function createRunLog(bus: Bus): RunLog {
  const lastSequence = async (address: { app: string; runId: string }, slot: string) => {
    const subject = subjects.fact({ partition: partitionOf(address.runId, bus.partitions), ...address }, slot);
    const message = await bus.jsm.streams.getMessage(streams.runs, { last_by_subj: subject });
    return message?.seq ?? 0;
  };
  return {
    async stopOf(app, runId) {
      const address = { app, runId };
      const [ended, cancelled, paused, resumed] = await Promise.all(
        ['ended', 'cancel', 'paused.*', 'resumed.*'].map((slot) => lastSequence(address, slot)),
      );
      if (ended) return 'ended';
      if (cancelled) return 'cancelled';
      return (paused ?? 0) > (resumed ?? 0) ? 'paused' : undefined;
    },
  };
}
