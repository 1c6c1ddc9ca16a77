/** Two runs side by side, aligned by step: what is the same, what differs, where they part. Pure. */
import type { Story, StoryCall, Turn } from './story.ts';
import { bodyOf } from './trace.ts';

export type CallPair = {
  left: StoryCall | undefined;
  right: StoryCall | undefined;
  /** `same`: tool and arguments; `arguments`: the same tool with others. */
  likeness: 'same' | 'arguments' | 'only_left' | 'only_right';
  hasSameResult: boolean;
};

export type ComparedTurn = {
  /** Position, from 1. */
  place: number;
  left: Turn | undefined;
  right: Turn | undefined;
  hasSameThought: boolean;
  calls: CallPair[];
  isSame: boolean;
};

export type Comparison = {
  turns: ComparedTurn[];
  /** The place of the first turn that differs, or undefined when all are alike. */
  partsAt: number | undefined;
};

/** The two stories, turn by turn. */
export function compareStories(left: Story, right: Story): Comparison {
  const count = Math.max(left.turns.length, right.turns.length);
  const turns = Array.from({ length: count }, (_, at) => compareTurns(at + 1, left.turns[at], right.turns[at]));
  return { turns, partsAt: turns.find(({ isSame }) => !isSame)?.place };
}

function compareTurns(place: number, left: Turn | undefined, right: Turn | undefined): ComparedTurn {
  const hasSameThought = left !== undefined && right !== undefined && thoughtOf(left) === thoughtOf(right);
  const calls = pairCalls(left?.calls ?? [], right?.calls ?? []);
  const isSame = hasSameThought && calls.every(({ likeness, hasSameResult }) => likeness === 'same' && hasSameResult);
  return { place, left, right, hasSameThought, calls, isSame };
}

function thoughtOf(turn: Turn): string {
  return bodyOf(turn.thought, 'thought')?.text.trim() ?? turn.thought?.bodyRef ?? turn.thought?.slot ?? '';
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
    left.map((call) => [call, take((other) => other.tool === call.tool && argsOf(other) === argsOf(call))]),
  );
  for (const call of left) {
    const same = sameOf.get(call);
    const other = same ?? take(({ tool }) => tool === call.tool);
    const likeness = same ? 'same' : other ? 'arguments' : 'only_left';
    pairs.push({
      left: call,
      right: other,
      likeness,
      hasSameResult: other !== undefined && resultOf(call) === resultOf(other),
    });
  }
  for (const call of rest) pairs.push({ left: undefined, right: call, likeness: 'only_right', hasSameResult: false });
  return pairs;
}

/** Arguments with their keys in order. */
function argsOf({ args }: StoryCall): string {
  try {
    return JSON.stringify(sorted(JSON.parse(args || '{}')));
  } catch {
    return args ?? '';
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

function resultOf({ observed }: StoryCall): string {
  const observation = bodyOf(observed, 'observed')?.observation;
  return observation
    ? `${observation.status} ${observation.data ?? observation.message}`
    : (observed?.status ?? 'none');
}
