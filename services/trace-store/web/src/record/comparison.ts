/**
 * Two runs side by side, aligned by step: what is the same, what differs, where they part. Pure. Of a large body that has not been
 * loaded nobody can say whether it is the same: that is `undefined`, and neither sameness nor difference.
 */
import type { Purpose } from '@pawl/contracts';
import { isExactRecord, parseExact, printExact, type ExactValue } from './exact-json.ts';
import type { Story, StoryCall, Turn } from './story.ts';
import { bodyOf, type TraceRecord } from './trace.ts';

export type CallPair = {
  left: StoryCall | undefined;
  right: StoryCall | undefined;
  /** `same`: tool and arguments; `arguments`: the same tool with others; `unknown`: the same tool, whose arguments are not here. */
  likeness: 'same' | 'arguments' | 'unknown' | 'only_left' | 'only_right';
  hasSameResult: boolean | undefined;
};

export type ComparedTurn = {
  key: string;
  step: number;
  purpose: Purpose;
  left: Turn | undefined;
  right: Turn | undefined;
  hasSameThought: boolean | undefined;
  calls: CallPair[];
  isSame: boolean | undefined;
};

export type Comparison = {
  turns: ComparedTurn[];
  /** The step of the first turn that differs, or undefined when none is known to. */
  partsAt: number | undefined;
  /** Whether everything could be compared. */
  isCertain: boolean;
};

/** The two stories, turn by turn: turns of the same step and purpose stand beside each other. */
export function compareStories(left: Story, right: Story): Comparison {
  const [leftTurns, rightTurns] = [turnsByPlace(left), turnsByPlace(right)];
  const places = [...new Set([...leftTurns.keys(), ...rightTurns.keys()])];
  const orderOf = (place: string) => (leftTurns.get(place) ?? rightTurns.get(place))?.order ?? 0;
  const turns = places
    .toSorted((a, b) => orderOf(a) - orderOf(b))
    .map((place) => compareTurns(leftTurns.get(place)?.turn, rightTurns.get(place)?.turn));
  return {
    turns,
    partsAt: turns.find(({ isSame }) => isSame === false)?.step,
    isCertain: turns.every(({ isSame }) => isSame !== undefined),
  };
}

/** Turns by step and purpose, the first of each purpose apart from the second, with their order over both stories. */
function turnsByPlace({ turns }: Story): Map<string, { turn: Turn; order: number }> {
  const places = new Map<string, { turn: Turn; order: number }>();
  for (const [at, turn] of turns.entries()) {
    const step = turn.step ?? 0;
    const purpose = turn.thought?.purpose ?? 'think';
    let nth = 0;
    while (places.has(`${step} ${purpose} ${nth}`)) nth += 1;
    places.set(`${step} ${purpose} ${nth}`, { turn, order: step + at / (turns.length + 1) });
  }
  return places;
}

function compareTurns(left: Turn | undefined, right: Turn | undefined): ComparedTurn {
  const { step, m, thought } = left ?? right ?? { step: null, m: 0, thought: undefined };
  const hasSameThought = left && right ? areSame(thoughtOf(left), thoughtOf(right)) : false;
  const calls = pairCalls(left?.calls ?? [], right?.calls ?? []);
  const isSame = every([
    hasSameThought,
    ...calls.flatMap(({ likeness, hasSameResult }) => [isLike(likeness), hasSameResult]),
  ]);
  return {
    key: `${m} ${left ? 'left' : 'right'}`,
    step: step ?? 0,
    purpose: thought?.purpose ?? 'think',
    left,
    right,
    hasSameThought,
    calls,
    isSame,
  };
}

function isLike(likeness: CallPair['likeness']): boolean | undefined {
  return likeness === 'unknown' ? undefined : likeness === 'same';
}

/** False where one is, else undefined where one is. */
function every(are: readonly (boolean | undefined)[]): boolean | undefined {
  if (are.includes(false)) return false;
  return are.includes(undefined) ? undefined : true;
}

/** Undefined stands for what has not been loaded. */
function areSame(left: string | undefined, right: string | undefined): boolean | undefined {
  return left === undefined || right === undefined ? undefined : left === right;
}

function thoughtOf({ thought }: Turn): string | undefined {
  return thought ? bodyOf(thought, 'thought')?.text.trim() : '';
}

/** First those that are the same, then those of the same tool, then the rest. */
function pairCalls(left: readonly StoryCall[], right: readonly StoryCall[]): CallPair[] {
  const pairs: CallPair[] = [];
  const rest = new Set(right);
  const take = (fits: (call: StoryCall) => boolean) => {
    const found = [...rest].find(fits);
    if (found) rest.delete(found);
    return found;
  };
  const sameOf = new Map(
    left.map((call) => [
      call,
      take((other) => other.tool === call.tool && areSame(argsOf(other), argsOf(call)) === true),
    ]),
  );
  for (const call of left) {
    const same = sameOf.get(call);
    const other = same ?? take(({ tool }) => tool === call.tool);
    pairs.push({
      left: call,
      right: other,
      likeness: likenessOf(call, other),
      hasSameResult: other !== undefined && sameResult(call, other),
    });
  }
  for (const call of rest) pairs.push({ left: undefined, right: call, likeness: 'only_right', hasSameResult: false });
  return pairs;
}

function likenessOf(call: StoryCall, other: StoryCall | undefined): CallPair['likeness'] {
  if (!other) return 'only_left';
  const isSame = areSame(argsOf(call), argsOf(other));
  if (isSame === undefined) return 'unknown';
  return isSame ? 'same' : 'arguments';
}

/** Arguments with their keys in order, every digit of a number included. */
function argsOf({ args }: StoryCall): string | undefined {
  if (args === undefined) return undefined;
  const value = parseExact(args || '{}');
  return value === undefined ? args : printExact(sorted(value));
}

function sorted(value: ExactValue): ExactValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isExactRecord(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

function sameResult({ observed: left }: StoryCall, { observed: right }: StoryCall): boolean | undefined {
  if (!left || !right) return left === right;
  if (left.status !== right.status) return false;
  return areSame(resultOf(left), resultOf(right));
}

function resultOf(observed: TraceRecord): string | undefined {
  const observation = bodyOf(observed, 'observed')?.observation;
  return observation && `${observation.status} ${observation.data ?? observation.message}`;
}
