/**
 * A run as its facts tell it. Pure data: no clock, no I/O.
 * Facts may arrive in any order that the log has them in; a slot that is filled stays as it is (I1).
 */
import type { Acted, Cancel, Ended, Fact, Observed, Started, Thought } from '@pawl/contracts';

/** One model call and what came of it. A turn exists as soon as any of its facts is known. */
export type Turn = {
  readonly m: number;
  readonly thought?: Thought;
  readonly acted?: Acted;
  /** Observations by the index of their call. */
  readonly observed: Readonly<Record<number, Observed>>;
};

export type RunState = {
  readonly started: Started;
  /** By m, without gaps in a legal log. */
  readonly turns: readonly Turn[];
  readonly cancel?: Cancel;
  readonly ended?: Ended;
};

/** The state after a fact. Facts of a run that was never started, or has ended, change nothing. */
export function evolve(state: RunState | undefined, fact: Fact): RunState | undefined {
  if (!state) return fact.kind === 'started' ? { started: fact, turns: [] } : undefined;
  if (state.ended) return state;
  switch (fact.kind) {
    case 'started':
      return state;
    case 'thought':
      return withTurn(state, fact.m, (turn) => (turn.thought ? turn : { ...turn, thought: fact }));
    case 'acted':
      return withTurn(state, fact.m, (turn) => (turn.acted ? turn : { ...turn, acted: fact }));
    case 'observed':
      return withTurn(state, fact.m, (turn) =>
        turn.observed[fact.i] ? turn : { ...turn, observed: { ...turn.observed, [fact.i]: fact } },
      );
    case 'cancel':
      return state.cancel ? state : { ...state, cancel: fact };
    case 'ended':
      return { ...state, ended: fact };
    case 'approval':
    case 'signal':
    case 'paused':
    case 'resumed':
      return state;
  }
}

function withTurn(state: RunState, m: number, change: (turn: Turn) => Turn): RunState {
  const turns = [...state.turns];
  while (turns.length <= m) turns.push({ m: turns.length, observed: {} });
  turns[m] = change(turns[m] ?? { m, observed: {} });
  return { ...state, turns };
}
