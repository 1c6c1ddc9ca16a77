/**
 * Whole results of tools live as long as what is stored of their run: they go once its week has been dropped. What a legal hold
 * keeps has rows beyond its week, so its results stay, too.
 */
import { sweepResults, sweepBodies, type Bus } from '@pawl/bus';
import { runIdSchema } from '@pawl/contracts';
import { isExpired } from './period.ts';
import { hasRun } from '../store/has-run.ts';
import type { TraceTables } from '../store/trace-tables.ts';

/**
 * Looks at all stored results, and at bodies that no message refers to, at most every `everyMs` however often it is asked. Gives how
 * many went.
 */
export function createResultExpiry(options: { tables: TraceTables; bus: Bus; everyMs: number }): () => Promise<number> {
  const { tables, bus, everyMs } = options;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const isForgotten = async (run: { app: string; runId: string }) => {
    if (!runIdSchema.safeParse(run.runId).success) return false;
    const place = tables.policy.placeOf(run);
    if (!isExpired(place.week, tables.policy.keptDays(place.class), tables.nowMs())) return false;
    return !(await hasRun(tables.database, run));
  };
  return async () => {
    if (performance.now() - lookedAtMs < everyMs) return 0;
    const nowMs = tables.nowMs();
    const removed = (await sweepResults(bus, { nowMs, isForgotten })) + (await sweepBodies(bus, { nowMs }));
    lookedAtMs = performance.now();
    return removed;
  };
}
