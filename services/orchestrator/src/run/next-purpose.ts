/**
 * What the next model call of the loop is for, once everything that was asked for is answered and no limit stops the run:
 * a summary when the details have grown long, a plan where the strategy wants one, a review every few steps, else a thought.
 */
import type { AgentSpec } from '@pawl/contracts';
import type { ModelCall } from './action.ts';
import { guardsOf } from './limits.ts';
import { planOf } from './plan.ts';
import type { RunState } from './state.ts';
import { isStep } from './totals.ts';

export function nextPurpose(state: RunState, spec: AgentSpec): ModelCall['purpose'] {
  const m = state.turns.length;
  const guards = guardsOf(spec);
  if (stepsSince(state, 'summarize') >= guards.compressionEvery) return 'summarize';
  if (spec.strategy === 'plan-execute') {
    const plan = planOf(state, m);
    if (!plan || (plan.isSurprised && lastPurpose(state) !== 'plan')) return 'plan';
    return plan.items.length > 0 && plan.items.every(({ isDone }) => isDone) ? 'conclude' : 'think';
  }
  if (spec.strategy === 'single-call') return stepsSince(state, 'plan') === 0 ? 'think' : 'conclude';
  const isReviewDue = stepsSince(state, 'reflect') >= guards.reflectionEvery && spec.thoughts !== 'hidden';
  return isReviewDue ? 'reflect' : 'think';
}

/** Steps with calls since the last model call of a purpose that came back. */
function stepsSince(state: RunState, purpose: ModelCall['purpose']): number {
  const last = state.turns.findLastIndex(({ thought }) => thought?.purpose === purpose && thought.outcome === 'reply');
  return state.turns.slice(last + 1).filter((turn) => isStep(turn) && turn.acted).length;
}

function lastPurpose(state: RunState): string | undefined {
  return state.turns.at(-1)?.thought?.purpose;
}
