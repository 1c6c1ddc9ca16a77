/**
 * A run as its facts tell it. Pure data: no clock, no I/O.
 * Facts may arrive in any order that the log has them in; a slot that is filled stays as it is (I1).
 */
import type {
  Acted,
  Approval,
  Cancel,
  Ended,
  Fact,
  Observed,
  Paused,
  Resumed,
  SettledLimits,
  Signal,
  Started,
  Thought,
} from '@pawl/contracts';

/** One model call and what came of it. A turn exists as soon as any of its facts is known. */
export type Turn = {
  readonly m: number;
  readonly thought?: Thought;
  readonly acted?: Acted;
  /** Observations by the index of their call. */
  readonly observed: Readonly<Record<number, Observed>>;
  /** People's decisions by the index of the call. */
  readonly approvals: Readonly<Record<number, Approval>>;
};

/** A signal, and the call of `ask_user` that was open when it came, if any: it is the answer to that. */
export type ReceivedSignal = { readonly signal: Signal; readonly answers?: { readonly m: number; readonly i: number } };

/** A resumption, and how many turns there were when it came: what they brought about is over. */
export type ReceivedResume = { readonly resumed: Resumed; readonly turnsBefore: number };

export type RunState = {
  readonly started: Started;
  /** By m, without gaps in a legal log. Those of a fork's seed come first. */
  readonly turns: readonly Turn[];
  /** In the order of the log. */
  readonly signals: readonly ReceivedSignal[];
  readonly pauses: readonly Paused[];
  readonly resumes: readonly ReceivedResume[];
  readonly cancel?: Cancel;
  /**
   * Whether calls were open when the cancel came. Then no model is at work: the next one is only asked once all are answered,
   * and whoever sees them answered has seen the cancel, which stands before.
   */
  readonly wasModelIdle?: boolean;
  readonly ended?: Ended;
};

/** The state after a fact. Facts of a run that was never started, or has ended, change nothing. */
export function evolve(state: RunState | undefined, fact: Fact): RunState | undefined {
  if (!state) return fact.kind === 'started' ? startOf(fact) : undefined;
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
    case 'approval':
      return withTurn(state, fact.m, (turn) =>
        turn.approvals[fact.i] ? turn : { ...turn, approvals: { ...turn.approvals, [fact.i]: fact } },
      );
    case 'signal':
      return withSignal(state, fact);
    case 'paused':
      return state.pauses.length === fact.k ? { ...state, pauses: [...state.pauses, fact] } : state;
    case 'resumed':
      return withResume(state, fact);
    case 'cancel':
      return state.cancel ? state : { ...state, cancel: fact, wasModelIdle: hasOpenCalls(state.turns.at(-1)) };
    case 'ended':
      return { ...state, ended: fact };
  }
}

/** A run that has just started, with what it takes over where it is a fork. */
export function startOf(started: Started): RunState {
  const empty: RunState = { started, turns: [], signals: [], pauses: [], resumes: [] };
  return (started.seed ?? []).reduce<RunState>((state, fact) => evolve(state, fact) ?? state, empty);
}

/** Why the run stands still until it is resumed, or undefined. */
export function pauseOf(state: RunState): Paused | undefined {
  return state.pauses.length > state.resumes.length ? state.pauses.at(-1) : undefined;
}

/** The limits as they are now. */
export function limitsOf(state: RunState): SettledLimits {
  return state.resumes.at(-1)?.resumed.limits ?? state.started.limits;
}

/** Turns that were taken over from the run that this one is a fork of. */
export function seededTurns(state: RunState): number {
  return (state.started.seed ?? []).reduce((count, fact) => ('m' in fact ? Math.max(count, fact.m + 1) : count), 0);
}

/** How many turns there were when the run was last resumed before its thought m. */
export function turnsBeforeResume(state: RunState, m: number): number {
  return state.resumes.findLast(({ turnsBefore }) => turnsBefore <= m)?.turnsBefore ?? 0;
}

/** Whether a turn was made before the run was last resumed. */
export function isBeforeResume(state: RunState, turn: Turn): boolean {
  return turn.m < (state.resumes.at(-1)?.turnsBefore ?? 0);
}

function hasOpenCalls(turn: Turn | undefined): boolean {
  return turn?.acted?.calls.some(({ i }) => !turn.observed[i]) ?? false;
}

function withResume(state: RunState, resumed: Resumed): RunState {
  if (state.resumes.length !== resumed.k) return state;
  return { ...state, resumes: [...state.resumes, { resumed, turnsBefore: state.turns.length }] };
}

function withTurn(state: RunState, m: number, change: (turn: Turn) => Turn): RunState {
  const turns = [...state.turns];
  while (turns.length <= m) turns.push(emptyTurn(turns.length));
  turns[m] = change(turns[m] ?? emptyTurn(m));
  return { ...state, turns };
}

function emptyTurn(m: number): Turn {
  return { m, observed: {}, approvals: {} };
}

function withSignal(state: RunState, signal: Signal): RunState {
  if (state.signals.some((received) => received.signal.id === signal.id)) return state;
  const answers = openQuestionOf(state);
  return { ...state, signals: [...state.signals, answers ? { signal, answers } : { signal }] };
}

/** The call that waits for a person's answer and has none yet. */
function openQuestionOf(state: RunState): { m: number; i: number } | undefined {
  const turn = state.turns.at(-1);
  const question = turn?.acted?.calls.find(
    ({ i, admission }) => admission === 'input' && !turn.observed[i] && !answerTo(state, turn.m, i),
  );
  return turn && question ? { m: turn.m, i: question.i } : undefined;
}

/** The signal that answers a call of `ask_user`. */
export function answerTo(state: RunState, m: number, i: number): Signal | undefined {
  return state.signals.find(({ answers }) => answers?.m === m && answers.i === i)?.signal;
}
