/**
 * Percentiles of durations out of classes: how many durations are of about the same length, and what they add up to. Classes
 * can be added up in any order, and a percentile is off by less than a class is wide: a tenth. Pure.
 */

/** By class, smaller is shorter. */
export type DurationClasses = Map<number, { count: number; us: bigint }>;

/** Adds durations of one class. */
export function addDurations(classes: DurationClasses, at: number, durations: { count: number; us: bigint }): void {
  const known = classes.get(at) ?? { count: 0, us: 0n };
  classes.set(at, { count: known.count + durations.count, us: known.us + durations.us });
}

/** The duration in ms below which `part` of all are, between neighbours in proportion; null for none. */
export function percentileOf(classes: DurationClasses, part: number): number | null {
  const sorted = [...classes].toSorted(([left], [right]) => left - right).map(([, durations]) => durations);
  const total = sorted.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  const rank = part * (total - 1);
  const low = valueAt(sorted, Math.floor(rank));
  return low + (valueAt(sorted, Math.ceil(rank)) - low) * (rank - Math.floor(rank));
}

/** The mean of the class in which the duration of a rank is. */
function valueAt(sorted: readonly { count: number; us: bigint }[], rank: number): number {
  let passed = 0;
  for (const { count, us } of sorted) {
    passed += count;
    if (rank < passed) return Number(us) / count / 1_000;
  }
  return 0;
}
