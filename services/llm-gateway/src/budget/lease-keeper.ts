/**
 * Keeps the holds and slices of this process alive and gives back what dead processes had. Every replica does it.
 * After a failure, and at the start, it only renews for a while, so that nobody's are swept because Postgres was away.
 */
import type { Log, Part } from '@pawl/service';
import type { Slices } from './slices.ts';
import { leaseMs, type BudgetStore } from './store.ts';

export const tickMs = 10_000;

export function createLeaseKeeper(store: BudgetStore, slices: Pick<Slices, 'renew'>, log: Log): Part {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  let sweepNotBefore = 0;

  const tick = async () => {
    try {
      await store.renewHolds();
      await slices.renew();
      if (performance.now() < sweepNotBefore) return;
      const swept = await store.sweepHolds();
      if (swept > 0) log.warn({ holds: swept }, 'gave back what dead processes held');
    } catch (error) {
      sweepNotBefore = performance.now() + leaseMs / 2;
      log.error({ err: error }, 'holds could not be renewed');
    }
  };
  const schedule = () => {
    timer = setTimeout(() => {
      underWay = tick().finally(() => {
        if (timer) schedule();
      });
    }, tickMs);
  };

  return {
    name: 'lease-keeper',
    async start() {
      sweepNotBefore = performance.now() + leaseMs / 2;
      await tick();
      schedule();
    },
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await underWay;
    },
  };
}
