/** Taint (A4): a run that has read untrusted data is tainted from then on, and so is what it starts. */
import type { RunState } from './state.ts';

/** Whether a run was tainted before its thought m. */
export function isTainted(state: RunState, m: number): boolean {
  if (state.started.isTainted) return true;
  return state.turns
    .slice(0, m)
    .some((turn) =>
      Object.values(turn.observed).some(({ trust, observation }) => trust === 'untrusted' && observation.data !== null),
    );
}
