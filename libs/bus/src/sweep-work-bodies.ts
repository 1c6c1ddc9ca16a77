/** Takes away bodies of work that no work refers to: who stored them died before it published, or who did the work before it cleaned up. */
import { buckets, streams, streamSubjects } from '@pawl/contracts';
import { dropWorkBody, workPrefix } from './claims.ts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { claimOf } from './message.ts';
import { readEntries } from './read-entries.ts';

/** Whoever has stored a body publishes its work within seconds, or gives up. */
const unpublishedMsMax = 3_600_000;

/** Looks at every body once, and tells how many went. Safe to repeat, and in several processes at once. */
export async function sweepWorkBodies(bus: Bus, { nowMs }: { nowMs: number }): Promise<number> {
  let removed = 0;
  await readEntries(bus, buckets.claims, async ({ name, metadata: { subject }, writtenAtMs }) => {
    if (!name.startsWith(workPrefix) || subject === undefined || writtenAtMs + unpublishedMsMax > nowMs) return;
    if ((await claimAt(bus, subject)) === name) return;
    await dropWorkBody(bus, name);
    removed += 1;
  });
  return removed;
}

/** The body that the work at a subject has, if there is work that has one. */
async function claimAt(bus: Bus, subject: string): Promise<string | undefined> {
  const isThink = subject.startsWith(streamSubjects.THINK.slice(0, -1));
  const stream = isThink ? streams.think : streams.act;
  const waiting = await orUnavailable(bus.jsm.streams.getMessage(stream, { last_by_subj: subject }));
  return waiting ? claimOf({ headers: waiting.header }) : undefined;
}
