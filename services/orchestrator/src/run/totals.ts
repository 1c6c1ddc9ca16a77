/** What a run has used so far, from its facts. */
import type { RunState, Turn } from './state.ts';

export type Totals = {
  /** Turns of the loop: thoughts of purpose think or plan that came back. */
  steps: number;
  /** Calls that were sent to a tool. */
  toolCalls: number;
  /** Input and output tokens of every model call. */
  tokens: number;
  costNanoUsd: bigint;
};

export function totalsOf(state: RunState): Totals {
  const totals: Totals = { steps: 0, toolCalls: 0, tokens: 0, costNanoUsd: 0n };
  for (const turn of state.turns) {
    if (isStep(turn)) totals.steps += 1;
    totals.toolCalls += turn.acted?.calls.filter((call) => call.admission === 'run').length ?? 0;
    totals.tokens += (turn.thought?.usage.inputTokens ?? 0) + (turn.thought?.usage.outputTokens ?? 0);
    totals.costNanoUsd += BigInt(turn.thought?.costNanoUsd ?? 0);
  }
  return totals;
}

/** Whether a turn is one of the loop, and not a closing call or a failure. */
export function isStep(turn: Turn): boolean {
  return turn.thought?.outcome === 'reply' && turn.thought.purpose !== 'conclude';
}

/** The best answer so far: the last thing that the model said, or null. */
export function bestAnswerOf(state: RunState): string | null {
  const said = state.turns.findLast((turn) => turn.thought?.outcome === 'reply' && turn.thought.text.trim() !== '');
  return said?.thought?.text ?? null;
}
