/** Which candidate of a route gets a call, and why. Pure: first by priority (lower first), then in listed order. */
import type { Candidate, ModelRouteSpec } from '@pawl/contracts';

const priorityDefault = 0;

export type Choice = { candidate: Candidate; reason: string };

/** The candidate to ask. `routeName` only serves the written reason. */
export function chooseCandidate(routeName: string, spec: ModelRouteSpec): Choice {
  const ranked = spec.candidates
    .map((candidate, position) => ({ candidate, position, priority: candidate.priority ?? priorityDefault }))
    .toSorted((a, b) => a.priority - b.priority || a.position - b.position);
  const first = ranked[0];
  if (!first) throw new TypeError('a route without candidates');
  const { candidate, position, priority } = first;
  if (ranked.length === 1) return { candidate, reason: `the only candidate of route ${routeName}` };
  const tied = ranked.filter((other) => other.priority === priority).length;
  const among = tied === 1 ? 'alone there' : `first of ${tied} in listed order`;
  return {
    candidate,
    reason: `candidate ${position + 1} of ${ranked.length} of route ${routeName}: priority ${priority}, ${among}`,
  };
}
