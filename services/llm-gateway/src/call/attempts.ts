/** Whether and where a call is tried again. Pure. */
import type { ModelRouteSpec } from '@pawl/contracts';
import type { ModelCallResult } from '../providers/call-model.ts';
import { fallbackCauseOf } from './outcome.ts';

const fallbackDefault: NonNullable<ModelRouteSpec['fallback']>['on'] = [
  'rate_limited',
  'unavailable',
  'timeout',
  'broken',
  'context_length',
];

/** Attempts at a call in all, over every candidate. */
export function attemptsMaxOf(spec: ModelRouteSpec, candidates: number): number {
  return 1 + (spec.retry?.max ?? Math.max(1, candidates - 1));
}

export type Situation = {
  result: ModelCallResult;
  spec: ModelRouteSpec;
  attemptsLeft: number;
  /** Whether no other candidate is left. */
  isLast: boolean;
};

/**
 * `retry`: ask the same endpoint again, only where the attempt surely cost nothing. `fallback`: ask the next candidate.
 * `done`: this is what the caller gets.
 */
export function nextStep({ result, spec, attemptsLeft, isLast }: Situation): 'done' | 'retry' | 'fallback' {
  const cause = fallbackCauseOf(result);
  if (cause === undefined || attemptsLeft <= 0) return 'done';
  if (!isLast && (spec.fallback?.on ?? fallbackDefault).includes(cause)) return 'fallback';
  return result.end.kind === 'busy' ? 'retry' : 'done';
}
