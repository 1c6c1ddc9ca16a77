/** The records of a run as turns: a thought, its calls and what came of each. Pure. */
import type { ActedCall } from '@pawl/contracts';
import { bodyOf, recordOfFact, slotOfFact, type Trace, type TraceRecord, type UnreadableSlot } from './trace.ts';

/** A slot that must exist, and whose record never came or could not be kept. */
export type LostSlot = ({ state: 'missing'; slot: string } | ({ state: 'unreadable' } & UnreadableSlot)) & object;

/** `lost`: it ran when the run fell silent, and nobody knows what became of it. */
export type CallState = 'done' | 'running' | 'waiting' | 'lost' | 'missing' | 'unreadable';

export type StoryCall = Pick<ActedCall, 'i'> &
  Partial<Pick<ActedCall, 'callId' | 'admission' | 'why' | 'expiresAt'>> & {
    tool: string | undefined;
    args: string | undefined;
    slot: string;
    observed: TraceRecord | undefined;
    approval: TraceRecord | undefined;
    state: CallState;
    lost: LostSlot | undefined;
  };

export type Turn = {
  m: number;
  step: number | null;
  thought: TraceRecord | undefined;
  acted: TraceRecord | undefined;
  calls: StoryCall[];
  notes: TraceRecord[];
  lost: LostSlot[];
  /** Whether a fork took it over. */
  isSeeded: boolean;
};

export type Story = {
  started: TraceRecord | undefined;
  ended: TraceRecord | undefined;
  turns: Turn[];
  /** What came before the first turn. */
  notes: TraceRecord[];
  /** Spans of another agent that are neither thoughts nor calls, or report one once more. */
  spans: TraceRecord[];
};

type OpenTurn = Omit<Turn, 'calls' | 'lost'> & { records: TraceRecord[] };

/** Turns in order. Slots that are lost keep a place. `isLost`: the run has been silent for longer than it may live. */
export function storyOf({ run, records, missing, unreadable }: Trace, { isLost = false } = {}): Story {
  const story: Story = { started: undefined, ended: undefined, turns: [], notes: [], spans: [] };
  const turns = new Map<number, OpenTurn>();
  const turnOf = (m: number): OpenTurn => {
    const known = turns.get(m);
    if (known) return known;
    const turn = { m, step: null, thought: undefined, acted: undefined, records: [], notes: [], isSeeded: false };
    turns.set(m, turn);
    return turn;
  };
  let latest: { notes: TraceRecord[] } = story;
  const all = [...seedOf(records), ...records];
  for (const record of all) {
    if (record.kind === 'started' || record.kind === 'ended') story[record.kind] = record;
    else if (record.kind === 'span') story.spans.push(record);
    else if (record.m === undefined) latest.notes.push(record);
    else {
      const turn = turnOf(record.m);
      placeIn(turn, record);
      latest = turn;
    }
  }
  const lost = lostSlots({ missing, unreadable, have: new Set(all.map(({ slot }) => slot)) });
  for (const slot of lost.keys()) {
    const [kind, m] = slot.split('.');
    if (kind === 'thought' || kind === 'acted' || kind === 'observed') turnOf(Number(m));
  }
  const open = run.status === 'ended' ? 'missing' : isLost ? 'lost' : 'running';
  story.turns = withSteps([...turns.values()].toSorted((left, right) => left.m - right.m)).map((turn) =>
    completeTurn(turn, { lost, open }),
  );
  return story;
}

/** What a fork took over is in its `started`. */
function seedOf(records: readonly TraceRecord[]): TraceRecord[] {
  const started = bodyOf(
    records.find(({ kind }) => kind === 'started'),
    'started',
  );
  return (started?.seed ?? []).map((fact) => ({
    ...recordOfFact(fact, { seq: 0, slot: slotOfFact(fact) }),
    isSeeded: true,
  }));
}

function lostSlots(of: Pick<Trace, 'missing' | 'unreadable'> & { have: ReadonlySet<string> }): Map<string, LostSlot> {
  const lost = new Map<string, LostSlot>();
  for (const slot of of.missing) if (!of.have.has(slot)) lost.set(slot, { slot, state: 'missing' });
  for (const entry of of.unreadable) lost.set(entry.slot, { ...entry, state: 'unreadable' });
  return lost;
}

function placeIn(turn: OpenTurn, record: TraceRecord): void {
  turn.step ??= record.step;
  turn.isSeeded ||= record.isSeeded ?? false;
  if (record.kind === 'thought' || record.kind === 'acted') turn[record.kind] = record;
  else turn.records.push(record);
}

/** Records that come by the event stream don't say their step: a thought (think) opens the next, others belong to the last. */
function withSteps(turns: OpenTurn[]): OpenTurn[] {
  let step = 0;
  return turns.map((turn) => {
    step = turn.step ?? (turn.thought?.purpose === 'think' ? step + 1 : step);
    return turn.step === null && turn.thought ? { ...turn, step } : turn;
  });
}

function completeTurn(
  { records, ...turn }: OpenTurn,
  { lost, open }: { lost: ReadonlyMap<string, LostSlot>; open: 'missing' | 'lost' | 'running' },
): Turn {
  const { m } = turn;
  const calls = callsOf({ ...turn, records }, lost).map((call): StoryCall => {
    const slot = `observed.${m}.${call.i}`;
    const observed = records.find((record) => record.slot === slot);
    const approval = records.find((record) => record.slot === `approval.${m}.${call.i}`);
    const waits = (call.admission === 'approval' && !approval) || call.admission === 'input';
    const state = observed ? 'done' : (lost.get(slot)?.state ?? (waits && open === 'running' ? 'waiting' : open));
    return { ...call, slot, observed, approval, state, lost: lost.get(slot) };
  });
  const own = [`thought.${m}`, `acted.${m}`].flatMap((slot) => lost.get(slot) ?? []);
  return { ...turn, calls, lost: own };
}

type BareCall = Pick<StoryCall, 'i' | 'tool' | 'args'> & Partial<Omit<ActedCall, 'i' | 'tool' | 'args'>>;

/** The calls as they were acted; before that, or where it is lost, as asked for or as observed. */
function callsOf(turn: OpenTurn, lost: ReadonlyMap<string, LostSlot>): BareCall[] {
  const acted = bodyOf(turn.acted, 'acted')?.calls;
  if (acted) return acted;
  const calls = new Map<number, BareCall>();
  for (const [i, call] of (bodyOf(turn.thought, 'thought')?.calls ?? []).entries()) {
    calls.set(i, { i, tool: call.tool, args: call.args });
  }
  for (const { kind, i, tool } of turn.records) {
    if (kind === 'observed' && i !== undefined && !calls.has(i)) calls.set(i, { i, tool, args: undefined });
  }
  for (const slot of lost.keys()) {
    const [kind, m, at] = slot.split('.');
    const i = Number(at);
    if (kind === 'observed' && Number(m) === turn.m && !calls.has(i)) {
      calls.set(i, { i, tool: undefined, args: undefined });
    }
  }
  return [...calls.values()].toSorted((left, right) => left.i - right.i);
}

/**
 * Whether a tool was changed before a call of it could be made, so that a person's word on it is void: one that had been given
 * (`decided`), or one that was asked for (`asked`).
 */
export function voidOf({ admission, approval, observed }: StoryCall): 'decided' | 'asked' | undefined {
  if (bodyOf(observed, 'observed')?.observation.errorCode !== 'tool_not_allowed') return undefined;
  const decision = bodyOf(approval, 'approval')?.decision;
  if (decision === 'approve' || decision === 'edit') return 'decided';
  return admission === 'approval' && decision === undefined ? 'asked' : undefined;
}

/** Since when a run that still counts as running should have ended, or undefined: nothing says what became of it. */
export function overdueSince({ run, records }: Pick<Trace, 'run' | 'records'>, nowMs: number): string | undefined {
  if (run.status !== 'running') return undefined;
  let deadline: string | undefined;
  for (const { body } of records) {
    if (body?.kind === 'started' || body?.kind === 'resumed') deadline = body.deadlineAt;
  }
  const graceMs = 60_000;
  if (deadline === undefined || nowMs < Date.parse(deadline) + graceMs) return undefined;
  return nowMs > Date.parse(run.lastAt) + graceMs ? deadline : undefined;
}
