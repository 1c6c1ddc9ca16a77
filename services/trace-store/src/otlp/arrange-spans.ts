/**
 * The records of spans as a story of turns, in the shape of a Pawl run: which thought is which, which call belongs to which
 * thought, what was asked and how it ended. Pure; the same set of spans gives the same story, whatever the order they came in.
 *
 * Where the spans say which round of the loop they are of, that is the step; else each thought is one.
 * Spans whose parent never came are told apart (`isOrphan`); once it comes, they are not any more. Spans that tell a call
 * once more (`isRepeat`) are neither thoughts nor calls of the story.
 */
import { z } from 'zod';
import type { RollUp } from '../record/roll-up.ts';
import type { StoredRecord } from '../store/record-rows.ts';
import { repeatsIn } from './repeats.ts';

export type ArrangedRecord = StoredRecord & {
  /** Where the body is stored, where the slot of the story is another. */
  storedSlot?: string;
  isOrphan?: boolean;
  isRepeat?: boolean;
};

type RunOfSpans = Pick<RollUp, 'start' | 'end'> & { app: string; runId: string };

const bodySchema = z.object({
  calls: z.array(z.object({ id: z.string(), tool: z.string(), args: z.string() })).optional(),
  args: z.string().optional(),
});
type Call = { callId: string; tool: string; args: string };

/** The records: started, spans that are neither thoughts nor calls, turn by turn, ended. */
export function arrangeSpans(records: readonly StoredRecord[], run: RunOfSpans): ArrangedRecord[] {
  const known = new Set(records.map(({ spanId }) => spanId));
  const repeats = repeatsIn(records);
  const all = records.map((record): ArrangedRecord => ({
    ...record,
    storedSlot: record.slot,
    purpose: record.kind === 'thought' ? 'think' : null,
    ...(record.spanId !== null && repeats.has(record.spanId) ? { kind: 'span', isRepeat: true } : {}),
    ...(record.parentSpanId !== null && !known.has(record.parentSpanId) ? { isOrphan: true } : {}),
  }));
  const inOrder = all.toSorted((left, right) => left.sequence - right.sequence || compare(left.slot, right.slot));
  const turns = turnsOf(inOrder);
  const rounds = roundsOf(all);
  const [first] = inOrder;
  if (!first) return [];
  return [
    ...startOf(run, first),
    ...inOrder.filter(({ kind }) => kind === 'span'),
    ...turns.flatMap((turn, m) => {
      const place = { m, step: rounds(turn.thought ?? turn.observed[0]) ?? m + 1 };
      return [...(turn.thought ? [asThought(turn.thought, place)] : []), ...actsOf(turn, place, first)];
    }),
    ...endOf(run, first, turns.length),
  ];
}

type Turn = { thought: ArrangedRecord | undefined; asked: Call[]; observed: ArrangedRecord[] };

/** Each thought opens a turn. A call belongs to the thought that asked for it, by its id, or to the latest before it. */
function turnsOf(inOrder: readonly ArrangedRecord[]): Turn[] {
  const turns: Turn[] = inOrder
    .filter(({ kind }) => kind === 'thought')
    .map((thought) => ({ thought, asked: askedBy(thought), observed: [] }));
  const byCall = new Map<string, Turn>();
  for (const turn of turns) {
    for (const { callId } of turn.asked) if (callId !== '' && !byCall.has(callId)) byCall.set(callId, turn);
  }
  let before = -1;
  for (const record of inOrder) {
    if (record.kind !== 'observed') continue;
    while ((turns[before + 1]?.thought?.sequence ?? Infinity) <= record.sequence) before += 1;
    let turn = byCall.get(record.callId ?? '') ?? turns[before] ?? turns[0];
    if (!turn) turns.push((turn = { thought: undefined, asked: [], observed: [] }));
    turn.observed.push(record);
  }
  return turns;
}

function askedBy({ body }: StoredRecord): Call[] {
  const calls = body === null ? undefined : bodySchema.safeParse(JSON.parse(body)).data?.calls;
  return (calls ?? []).map(({ id, tool, args }) => ({ callId: id, tool, args }));
}

type Place = { m: number; step: number };

/** How far up a span looks for the round that it is of. */
const roundLevelsMax = 16;

/** Finds the round of a span: what it says itself, or the nearest around it that does. */
function roundsOf(records: readonly ArrangedRecord[]): (record: ArrangedRecord | undefined) => number | undefined {
  const byId = new Map(records.map((record) => [record.spanId, record]));
  const said = new Map(records.flatMap((record) => roundIn(record)));
  return (record) => {
    let at = record;
    for (let level = 0; at && level < roundLevelsMax && said.size > 0; level++) {
      const round = said.get(at);
      if (round !== undefined) return round;
      at = byId.get(at.parentSpanId);
    }
    return undefined;
  };
}

const roundSchema = z.object({
  attributes: z.object({ 'gen_ai.react.round': z.coerce.number().int().min(1).max(1e6) }),
});

function roundIn(record: ArrangedRecord): [ArrangedRecord, number][] {
  if (!record.body?.includes('gen_ai.react.round')) return [];
  const round = roundSchema.safeParse(JSON.parse(record.body)).data?.attributes['gen_ai.react.round'];
  return round === undefined ? [] : [[record, round]];
}

function asThought(record: ArrangedRecord, { m, step }: Place): ArrangedRecord {
  return { ...record, slot: `thought.${m}`, m, step, body: withNumbers(record.body, `"m":${m}`) };
}

/** What was done of a turn: the decision, which no span tells, and each result. */
function actsOf(turn: Turn, { m, step }: Place, first: ArrangedRecord): ArrangedRecord[] {
  const calls = [...turn.asked];
  const taken = new Set<number>();
  const observed = turn.observed.map((record): ArrangedRecord => {
    const found = callIndexOf(record, calls, taken);
    const i = found < 0 ? calls.push(callIn(record)) - 1 : found;
    taken.add(i);
    const body = withNumbers(record.body, `"m":${m},"i":${i}`);
    const callId = calls[i]?.callId || record.callId;
    return { ...record, slot: `observed.${m}.${i}`, m, i, step, callId, body };
  });
  if (calls.length === 0) return [];
  const source = turn.thought ?? turn.observed[0] ?? first;
  const acted = made(source, {
    slot: `acted.${m}`,
    kind: 'acted',
    m,
    step,
    calls: calls.length,
    startedAt: source.at,
    body: { kind: 'acted', m, step, calls: calls.map((call, i) => ({ i, ...call, admission: 'run' })) },
  });
  return [acted, ...observed.toSorted((left, right) => (left.i ?? 0) - (right.i ?? 0))];
}

/** The call that a result answers: by its id, or, where the span tells none, the first of its tool that has no result. */
function callIndexOf(record: ArrangedRecord, calls: readonly Call[], taken: ReadonlySet<number>): number {
  const byId = calls.findIndex(({ callId }, i) => callId !== '' && callId === record.callId && !taken.has(i));
  if (byId >= 0 || record.callId !== record.spanId) return byId;
  return calls.findIndex(({ tool }, i) => tool === record.tool && !taken.has(i));
}

/** A call that no thought told of, as its result tells it. */
function callIn({ callId, tool, body }: ArrangedRecord): Call {
  const args = body === null ? undefined : bodySchema.safeParse(JSON.parse(body)).data?.args;
  return { callId: callId ?? '', tool: tool ?? '', args: args ?? '{}' };
}

function startOf({ start }: RunOfSpans, first: ArrangedRecord): ArrangedRecord[] {
  if (!start) return [];
  const { at, agent, question, userId, session } = start;
  const body = {
    kind: 'started',
    agent: { name: agent, revision: '' },
    input: question,
    ...(userId === null ? {} : { user: { id: userId } }),
    ...(session === null ? {} : { session }),
  };
  return [made(first, { slot: 'started', kind: 'started', at, startedAt: at, body })];
}

function endOf({ end }: RunOfSpans, first: ArrangedRecord, steps: number): ArrangedRecord[] {
  if (!end) return [];
  const { at, stopReason, answer, partial, detail } = end;
  const body = { kind: 'ended', stopReason, answer, partial, detail, steps };
  return [made(first, { slot: 'ended', kind: 'ended', at, startedAt: at, body })];
}

/** A record that no span is: told by the others. It has no body of its own in the store. */
function made(source: ArrangedRecord, own: Partial<Omit<ArrangedRecord, 'body'>> & { body: object }): ArrangedRecord {
  const { app, runId, traceId, spanId, parentSpanId, at, sequence } = source;
  const nothing = {
    m: null,
    i: null,
    step: null,
    purpose: null,
    callId: null,
    tool: null,
    status: null,
    calls: null,
    inputTokens: null,
    outputTokens: null,
    costNanoUsd: null,
    subTokens: null,
    subCostNanoUsd: null,
    seededTurns: null,
    seededSteps: null,
    model: null,
    marks: [],
    durationMs: 0,
  };
  const base = {
    app,
    runId,
    traceId,
    spanId,
    parentSpanId,
    at,
    sequence,
    slot: '',
    kind: 'span' as const,
    startedAt: at,
  };
  return { ...base, ...nothing, ...own, body: JSON.stringify({ v: 1, app, runId, at: own.at ?? at, ...own.body }) };
}

/** Numbers of the story in front of a body that was stored without them. */
function withNumbers(body: string | null, numbers: string): string | null {
  return body === null ? null : `{${numbers},${body.slice(1)}`;
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
