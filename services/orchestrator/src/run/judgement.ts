/**
 * How the calls of a thought were judged. `decide` asks for it at every fact of a run, so the last judgement of a thought is kept for
 * as long as all that it was made from is the very same; else a reply with thousands of calls would take minutes of the processor.
 */
import type { Definition, Thought } from '@pawl/contracts';
import { admitCalls, type Admission } from './admit.ts';
import { replyOf } from './reply.ts';
import { limitsOf, type RunState, type Turn } from './state.ts';
import { admittedCalls, totalsOf } from './totals.ts';

type Judgement = { madeFrom: readonly unknown[]; admissions: Admission[] };

const kept = new WeakMap<Thought, Judgement>();

/** The admission of each call of a turn's thought, in order. */
export function judge(
  state: RunState,
  turn: Turn,
  { thought, definition }: { thought: Thought; definition: Definition },
): Admission[] {
  const { m } = turn;
  const madeFrom = [state.started, definition, limitsOf(state), ...state.turns.slice(0, m)];
  const known = kept.get(thought);
  const isSame =
    known?.madeFrom.length === madeFrom.length && known.madeFrom.every((each, at) => each === madeFrom[at]);
  if (known && isSame) return known.admissions;
  const admissions = admitCalls(state, replyOf(thought, definition.agent.object.spec).calls, {
    m,
    definition,
    callsLeft: limitsOf(state).toolCalls - (totalsOf(state).toolCalls - admittedCalls(turn)),
    isClosing: thought.purpose !== 'think',
    nowMs: Date.parse(thought.at),
  });
  kept.set(thought, { madeFrom, admissions });
  return admissions;
}
