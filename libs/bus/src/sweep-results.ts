/** Gives stored results their end: those whose run is not kept any more, and what a crash has left half-way. */
import { buckets, objectStream } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { objectSubjects } from './object-subjects.ts';
import { readInOrder } from './read-in-order.ts';
import { dropStaged, parseEntry, removeResult, stagedPrefix } from './results.ts';

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
  const onEntry = async (text: string, writtenAtMs: number) => {
    const entry = parseEntry(text);
    if (!entry) return;
    if (entry.name.startsWith(stagedPrefix)) {
      if (writtenAtMs + stagedMsMax > nowMs) return;
      await dropStaged(bus, entry);
    } else {
      const [app = '', runId = ''] = entry.name.split('/');
      if (!(await isForgotten({ app, runId }))) return;
      await removeResult(bus, entry.name);
    }
    removed += 1;
  };
  const end = Promise.withResolvers<void>();
  const reading = readInOrder(bus, {
    stream: objectStream(buckets.results),
    filter: objectSubjects(buckets.results).entries,
    startSequence: 1,
    isLastPerSubject: true,
    onMessage: (message) => onEntry(message.string(), message.time.getTime()),
    onCaughtUp: end.resolve,
    onRewound: () => {},
  });
  try {
    await Promise.race([end.promise, reading.done]);
  } finally {
    await reading.stop();
  }
  return removed;
}
