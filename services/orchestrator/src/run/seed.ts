/** What a fork takes over of the run that it comes from. Pure. */
import { RejectedError, type Started } from '@pawl/contracts';
import type { RunState, Turn } from './state.ts';
import { stepOf } from './totals.ts';

export type Seed = NonNullable<Started['seed']>;

/**
 * The facts of all turns before a step, with what people said until then, in the order of the log. Those of plans, reviews and
 * summaries between them come along; closing calls and calls that failed do not. Throws `RejectedError` conflict when one of
 * the steps still waits for a result.
 */
export function seedOf(original: RunState, fromStep: number): Seed {
  const steps = stepOf(original, original.turns.length);
  if (fromStep > steps + 1) {
    throw new RejectedError(
      'invalid_request',
      `fromStep: the run has ${steps} steps, so 1 to ${steps + 1} can be forked from`,
    );
  }
  const end = original.turns.findIndex(
    (turn) => turn.thought?.purpose === 'think' && stepOf(original, turn.m) >= fromStep,
  );
  const turns = (end === -1 ? original.turns : original.turns.slice(0, end)).filter(
    ({ thought }) => thought?.outcome === 'reply' && thought.purpose !== 'conclude',
  );
  if (turns.some(isUnderWay)) throw new RejectedError('conflict', 'fromStep: a step before it has no result yet');
  return factsOf(original, turns);
}

/** Signals stand where they stood: before the thought that saw them, or behind the question that they answer. */
function factsOf({ signals }: RunState, turns: readonly Turn[]): Seed {
  const seed: Seed = [];
  let taken = 0;
  const takeSignals = (end: number) => {
    seed.push(...signals.slice(taken, end).map(({ signal }) => signal));
    taken = Math.max(taken, end);
  };
  for (const { m, thought, acted, approvals, observed } of turns) {
    const isAnswer = ({ answers }: RunState['signals'][number]) => answers?.m === m;
    takeSignals(thought?.signalsSeen ?? 0);
    if (thought) seed.push(thought);
    takeSignals(signals.findIndex(isAnswer));
    if (acted) seed.push(acted);
    takeSignals(signals.findLastIndex(isAnswer) + 1);
    seed.push(...Object.values(approvals), ...Object.values(observed));
  }
  return seed;
}

/** Whether a turn has asked for something that is not answered. */
function isUnderWay({ thought, acted, observed }: Turn): boolean {
  const calls = acted?.calls ?? thought?.calls ?? [];
  return calls.length > Object.keys(observed).length;
}
