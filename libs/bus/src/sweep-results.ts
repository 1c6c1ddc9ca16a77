/** Gives stored results their end: those whose run is not kept any more, and what a crash has left half-way. */
import { buckets } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { readEntries } from './read-entries.ts';
import { dropStaged, removeResult, stagedPrefix } from './results.ts';

/** A tool may take 24 days to say what it has to say; what is staged for longer than that was left by a crash. */
export const stagedMsMax = 25 * 86_400_000;

export type SweepOptions = {
  nowMs: number;
  /** Whether nothing is kept of a run any more. */
  isForgotten(run: { app: string; runId: string }): boolean | Promise<boolean>;
};

/** Looks at every stored result once, and tells how many went. Safe to repeat, and in several processes at once. */
export async function sweepResults(bus: Bus, { nowMs, isForgotten }: SweepOptions): Promise<number> {
  let removed = 0;
  await readEntries(bus, buckets.results, async (entry) => {
    if (entry.name.startsWith(stagedPrefix)) {
      if (entry.writtenAtMs + stagedMsMax > nowMs) return;
      await dropStaged(bus, entry);
    } else {
      const [app = '', runId = ''] = entry.name.split('/');
      if (!(await isForgotten({ app, runId }))) return;
      await removeResult(bus, entry.name);
    }
    removed += 1;
  });
  return removed;
}
