/** Keeps the figures by hour up to date: counts what is new, what has changed, and, backwards, what was there before there were figures. */
import type { Database } from '@pawl/db';
import { countMore, listApps, recountOutdated } from '../store/figures.ts';

/** How long one round may go on; the next one goes on from there. */
const roundMs = 3_000;

export async function keepFigures(database: Database): Promise<void> {
  const beganAtMs = performance.now();
  const hasTime = (part: number) => performance.now() - beganAtMs < roundMs * part;
  while (hasTime(0.5) && (await recountOutdated(database)) > 0);
  for (const app of await listApps(database)) while (hasTime(1) && (await countMore(database, app)));
}
