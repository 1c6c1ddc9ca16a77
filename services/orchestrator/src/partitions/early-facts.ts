/**
 * Facts that stand before the first one of their run. They do where the log has lost a first fact and got it again (I3):
 * whoever was at work meanwhile has written on. Bounded, since what comes behind the end of a run looks the same.
 */
import type { Fact } from '@pawl/contracts';

const runsMax = 10_000;
const factsPerRunMax = 1_000;

export type EarlyFacts = {
  keep(fact: Fact): void;
  /** What was kept of a run, in the order of the log; it is forgotten here. */
  take(runId: string): Fact[];
};

/** Keeps the facts of the latest 10,000 such runs, 1,000 of each at the most. */
export function createEarlyFacts(): EarlyFacts {
  const kept = new Map<string, Fact[]>();
  return {
    keep(fact) {
      const facts = kept.get(fact.runId) ?? [];
      if (facts.length < factsPerRunMax) facts.push(fact);
      const oldest = kept.size >= runsMax ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(fact.runId, facts);
    },
    take(runId) {
      const facts = kept.get(runId) ?? [];
      kept.delete(runId);
      return facts;
    },
  };
}
