/**
 * Takes away bodies that no message refers to: who stored them died before it published, whoever did the work before it cleaned up, or the
 * fact has left the log.
 */
import { buckets, streams, streamSubjects } from '@pawl/contracts';
import { dropBody, isBody } from './claims.ts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { claimOf } from './message.ts';
import { readEntries } from './read-entries.ts';

/** Whoever has stored a body publishes its message within seconds, or gives up. */
const unpublishedMsMax = 3_600_000;

/** Looks at every body once, and tells how many went. Safe to repeat, and in several processes at once. */
export async function sweepBodies(bus: Bus, { nowMs }: { nowMs: number }): Promise<number> {
  let removed = 0;
  await readEntries(bus, buckets.claims, async ({ name, metadata: { subject }, writtenAtMs }) => {
    if (!isBody(name) || subject === undefined || writtenAtMs + unpublishedMsMax > nowMs) return;
    if ((await claimAt(bus, subject)) === name) return;
    await dropBody(bus, name);
    removed += 1;
  });
  return removed;
}

/** The body that the message at a subject has, if there is one that has one. */
async function claimAt(bus: Bus, subject: string): Promise<string | undefined> {
  const stream = (['runs', 'think', 'act'] as const).find((each) => isOf(streams[each], subject));
  if (!stream) return undefined;
  const there = await orUnavailable(bus.jsm.streams.getMessage(streams[stream], { last_by_subj: subject }));
  return there ? claimOf({ headers: there.header }) : undefined;
}

function isOf(stream: 'RUNS' | 'THINK' | 'ACT', subject: string): boolean {
  return subject.startsWith(streamSubjects[stream].slice(0, -1));
}
