/** Keeps the figures by hour up to date: counts what is new, what has changed, and, backwards, what was there before there were figures. */
import type { Database } from '@pawl/db';
import { countMore, listApps, recountOutdated } from '../store/figures.ts';

const roundMs = 3_000;
const momentMs = 200;
const monthHours = 720;

/** One round of at most about `forMs`; the next one goes on from there. */
export async function keepFigures(database: Database, { forMs = roundMs }: { forMs?: number } = {}): Promise<void> {
  const beganAtMs = performance.now();
  const hasTime = (part: number) => performance.now() - beganAtMs < forMs * part;
  while (hasTime(0.5) && (await recountOutdated(database)) > 0);
  for (const app of await listApps(database)) {
    // As many hours at once as take a moment: of some apps that is a month, of others one hour.
    let hoursMax = 6;
    for (let atMs = performance.now(); hasTime(1) && (await countMore(database, { app, hoursMax }));) {
      const tookMs = performance.now() - atMs;
      hoursMax = tookMs < momentMs ? Math.min(hoursMax * 2, monthHours) : Math.max(Math.floor(hoursMax / 2), 1);
      atMs += tookMs;
    }
  }
}
