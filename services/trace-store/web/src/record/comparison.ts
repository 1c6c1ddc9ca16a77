/** Two runs side by side, aligned by step: what is the same, what differs, where they part. Pure. */
import type { Purpose } from '@pawl/contracts';
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
  key: string;
  step: number;
  purpose: Purpose;
  left: Turn | undefined;
  right: Turn | undefined;
  hasSameThought: boolean;
  calls: CallPair[];
  isSame: boolean;
};

export type Comparison = {
  turns: ComparedTurn[];
  /** The step of the first turn that differs, or undefined when all are alike. */
  partsAt: number | undefined;
};

/** The two stories, turn by turn: turns of the same step and purpose stand beside each other. */
export function compareStories(left: Story, right: Story): Comparison {
  const [leftTurns, rightTurns] = [turnsByPlace(left), turnsByPlace(right)];
  const places = [...new Set([...leftTurns.keys(), ...rightTurns.keys()])];
  const orderOf = (place: string) => (leftTurns.get(place) ?? rightTurns.get(place))?.order ?? 0;
  const turns = places
    .toSorted((a, b) => orderOf(a) - orderOf(b))
    .map((place) => compareTurns(leftTurns.get(place)?.turn, rightTurns.get(place)?.turn));
  return { turns, partsAt: turns.find(({ isSame }) => !isSame)?.step };
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
  const hasSameThought = left !== undefined && right !== undefined && thoughtOf(left) === thoughtOf(right);
  const calls = pairCalls(left?.calls ?? [], right?.calls ?? []);
  const isSame = hasSameThought && calls.every(({ likeness, hasSameResult }) => likeness === 'same' && hasSameResult);
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
