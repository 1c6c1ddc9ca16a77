/** Taint (A4): a run that has read untrusted data is tainted from then on, and so is what it starts. */
import type { Definition } from '@pawl/contracts';
import { toolsReachedBy } from './pin.ts';
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

/**
 * The classes of data that a run has read (I14): models are only asked where all of them may go. What a skill or a sub-run
 * answered may hold whatever the tools behind it return.
 */
export function dataClassesOf(state: RunState, definition: Definition): string[] {
  const read = new Set(state.turns.flatMap(({ observed }) => Object.values(observed).map(({ tool }) => tool)));
  const classes = [...read]
    .flatMap((name) => toolsReachedBy(definition, name))
    .flatMap(({ object }) => object.spec.returns?.dataClass ?? []);
  return [...new Set([...(state.started.dataClasses ?? []), ...classes])].toSorted((a, b) => a.localeCompare(b));
}
