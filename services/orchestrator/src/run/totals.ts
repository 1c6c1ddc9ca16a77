/** What a run has used so far, from its facts. What a fork took over was paid by the run it comes from. */
import { seededTurns, type RunState, type Turn } from './state.ts';

export type Totals = {
  /** Turns of the loop: thoughts of purpose think that came back. */
  steps: number;
  /** Calls that were sent to a tool, a person or a sub-run. */
  toolCalls: number;
  /** Input and output tokens of every model call, those of sub-runs included. */
  tokens: number;
  /** What every model call has cost, those of sub-runs included. */
  costNanoUsd: bigint;
};

export function totalsOf(state: RunState): Totals {
  const totals: Totals = { steps: 0, toolCalls: 0, tokens: 0, costNanoUsd: 0n };
  for (const turn of state.turns.slice(seededTurns(state))) {
    if (isStep(turn)) totals.steps += 1;
    totals.toolCalls += admittedCalls(turn);
    totals.tokens += (turn.thought?.usage.inputTokens ?? 0) + (turn.thought?.usage.outputTokens ?? 0);
    totals.costNanoUsd += BigInt(turn.thought?.costNanoUsd ?? 0);
    for (const { spent } of Object.values(turn.observed)) {
      totals.tokens += spent?.tokens ?? 0;
      totals.costNanoUsd += BigInt(spent?.costNanoUsd ?? 0);
    }
  }
  return totals;
}

/** The calls of a turn that count against the limit. */
export function admittedCalls(turn: Turn): number {
  return turn.acted?.calls.filter((call) => call.admission !== 'answered').length ?? 0;
}

/** Whether a turn is a step of the loop, and not a plan, a review, a summary, a closing call or a failure. */
export function isStep(turn: Turn): boolean {
  return turn.thought?.outcome === 'reply' && turn.thought.purpose === 'think';
}

/** Whether a turn is a summary that stands for what came before it. One that is empty or broke off replaces nothing. */
export function isSummary({ thought }: Turn): boolean {
  if (thought?.purpose !== 'summarize' || thought.outcome !== 'reply') return false;
  return thought.text.trim() !== '' && thought.cutBy === undefined;
}

/** The number of a turn's step, counted from 1 and over what a fork took over. */
export function stepOf(state: RunState, m: number): number {
  return state.turns.slice(0, m + 1).filter(isStep).length;
}
