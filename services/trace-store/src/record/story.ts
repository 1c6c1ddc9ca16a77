/**
 * The order in which a run's records tell its story, the step that each belongs to, and what the story lacks. Pure.
 *
 * 1. The order follows from the slots, not from the order of delivery: by thought (m); within it thought, acted, then
 *    call by call its approval and its observation. What has no m keeps the place it had in the log.
 * 2. A slot is called missing only when other records prove that it must exist (a call that was acted and never observed
 *    in a run that went on, a hole in m). What was received but could not be kept is told apart (`unreadable`).
 * 3. The turns that a fork took over are in its `started`; they are neither missing nor its own.
 */
import type { TraceRecord } from './record.ts';

export type StoryRecord = Pick<
  TraceRecord,
  | 'slot'
  | 'sequence'
  | 'kind'
  | 'm'
  | 'i'
  | 'step'
  | 'purpose'
  | 'status'
  | 'calls'
  | 'startedAt'
  | 'seededTurns'
  | 'seededSteps'
>;

/** How many missing slots are named at the most. */
export const MISSING_MAX = 1_000;

type Place = { m: number; phase: number; i: number; order: number };

const phases = { thought: 0, acted: 1, call: 2, other: 3 } as const;

/** The records in story order. Gives a new array. */
export function inStoryOrder<R extends StoryRecord>(records: readonly R[]): R[] {
  const bySequence = records.toSorted((left, right) => left.sequence - right.sequence);
  const placed: { record: R; place: Place }[] = [];
  let latestM = -1;
  for (const record of bySequence) {
    if (record.m !== null) latestM = Math.max(latestM, record.m);
    placed.push({ record, place: placeOf(record, latestM) });
  }
  return placed.toSorted((left, right) => comparePlaces(left.place, right.place)).map(({ record }) => record);
}

function placeOf(record: StoryRecord, latestM: number): Place {
  const { m, i, sequence } = record;
  switch (record.kind) {
    case 'started':
      return { m: -Infinity, phase: 0, i: 0, order: sequence };
    case 'ended':
      return { m: Infinity, phase: 0, i: 0, order: sequence };
    case 'thought':
    case 'acted':
      return { m: m ?? 0, phase: phases[record.kind], i: 0, order: sequence };
    case 'approval':
      return { m: m ?? 0, phase: phases.call, i: i ?? 0, order: 0 };
    case 'observed':
      return { m: m ?? 0, phase: phases.call, i: i ?? 0, order: 1 };
    case 'signal':
    case 'cancel':
    case 'paused':
    case 'resumed':
    case 'span':
      return { m: latestM, phase: phases.other, i: 0, order: sequence };
  }
}

function comparePlaces(left: Place, right: Place): number {
  if (left.m !== right.m) return left.m < right.m ? -1 : 1;
  return left.phase - right.phase || left.i - right.i || left.order - right.order;
}

/**
 * The step of each thought by its m, counted from 1 (from those taken over, in a fork) where no `acted` says it: a thought
 * (think) that came back opens the next step, everything else belongs to the step before it.
 */
export function stepsByThought(records: readonly StoryRecord[]): Map<number, number> {
  const acted = new Map<number, number>();
  for (const { kind, m, step } of records) if (kind === 'acted' && m !== null && step !== null) acted.set(m, step);
  const thoughts = records
    .filter(({ kind }) => kind === 'thought')
    .toSorted((left, right) => (left.m ?? 0) - (right.m ?? 0));
  const steps = new Map(acted);
  let step = records.find(({ kind }) => kind === 'started')?.seededSteps ?? 0;
  for (const { m, purpose, status } of thoughts) {
    const opens = purpose === 'think' && status !== 'failed';
    step = acted.get(m ?? 0) ?? (opens ? step + 1 : step);
    steps.set(m ?? 0, step);
  }
  return steps;
}

/** The slots that must exist and are neither recorded nor among `unreadable`, in story order, at most MISSING_MAX. */
export function missingSlots(records: readonly StoryRecord[], unreadable: ReadonlySet<string> = new Set()): string[] {
  if (records.length === 0) return [];
  const have = new Set([...records.map(({ slot }) => slot), ...unreadable]);
  const missing: string[] = [];
  for (const slot of expectedSlots(records)) {
    if (!have.has(slot)) missing.push(slot);
    if (missing.length >= MISSING_MAX) break;
  }
  return missing;
}

type Turn = { asked: number; acted: number | undefined; seen: number };

function* expectedSlots(records: readonly StoryRecord[]): Generator<string> {
  yield 'started';
  const turns = turnsOf(records);
  const isEnded = records.some(({ kind }) => kind === 'ended');
  const lastThought = [...turns.keys()].reduce((left, right) => Math.max(left, right), -1);
  const first = records.find(({ kind }) => kind === 'started')?.seededTurns ?? 0;
  for (let m = first; m <= lastThought; m++) {
    yield `thought.${m}`;
    const turn = turns.get(m);
    if (turn) yield* expectedOfTurn(m, turn, isEnded || m < lastThought);
  }
}

/** A later thought, or the end, proves that all calls of this one were answered. */
function* expectedOfTurn(m: number, turn: Turn, isOver: boolean): Generator<string> {
  const hasCalls = turn.seen > 0 || (isOver && turn.asked > 0);
  if (hasCalls) yield `acted.${m}`;
  const calls = isOver ? Math.max(turn.acted ?? turn.asked, turn.seen) : Math.max(0, turn.seen - 1);
  for (let i = 0; i < calls; i++) if (isOver) yield `observed.${m}.${i}`;
}

function turnsOf(records: readonly StoryRecord[]): Map<number, Turn> {
  const turns = new Map<number, Turn>();
  for (const { kind, m, i, calls } of records) {
    if (m === null) continue;
    const turn = turns.get(m) ?? { asked: 0, acted: undefined, seen: 0 };
    if (kind === 'thought') turn.asked = calls ?? 0;
    if (kind === 'acted') turn.acted = calls ?? 0;
    if (i !== null) turn.seen = Math.max(turn.seen, i + 1);
    turns.set(m, turn);
  }
  return turns;
}
