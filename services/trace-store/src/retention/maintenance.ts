/**
 * What has to be done again and again: read what apps want, keep and drop by weeks, erase users, publish how far facts are
 * stored, archive. A round that fails says so and is tried again; it never stops the service.
 */
import type { Log, Part } from '@pawl/service';

export type Chore = { name: string; run(): Promise<unknown> };

export type Maintenance = Part & {
  /** Does all chores now, after those that are under way. */
  runNow(): Promise<void>;
};

/** Runs the chores in order, every `everyMs`. */
export function createMaintenance(options: { chores: Chore[]; everyMs: number; log: Log }): Maintenance {
  const { chores, everyMs, log } = options;
  let timer: NodeJS.Timeout | undefined;
  let round = Promise.resolve();
  const runAll = async () => {
    for (const chore of chores) {
      await chore.run().catch((error: unknown) => {
        const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
        log.warn({ chore: chore.name, reason }, 'a chore failed, it is tried again');
      });
    }
  };
  const runNow = () => (round = round.then(runAll));
  return {
    name: 'maintenance',
    async start() {
      timer = setInterval(() => void runNow(), everyMs);
      void runNow();
    },
    async stop() {
      clearInterval(timer);
      await round;
    },
    runNow,
  };
}
