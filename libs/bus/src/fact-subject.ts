/** Where a fact of a run stands in the log. */
import { partitionOf, subjects } from '@pawl/contracts';
import type { Bus } from './connect.ts';

/** The subject of a run's slot; with wildcards where the slot has them. */
export function factSubject(bus: Bus, { app, runId }: { app: string; runId: string }, slot: string): string {
  return subjects.fact({ partition: partitionOf(runId, bus.partitions), app, runId }, slot);
}
