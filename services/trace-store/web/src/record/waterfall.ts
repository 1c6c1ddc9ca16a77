/**
 * A run as spans on one time line: for each thought and call how long it was queued, how long the model or the tool took,
 * how long a person was waited for. Pure: the present time comes in.
 *
 * 1. Times are milliseconds after the run's start. What still goes on reaches to the present.
 * 2. The critical path is what the run waited for: every thought, and of each turn's calls the one that ended last.
 */
import type { Story, StoryCall, Turn } from './story.ts';
import { bodyOf, spanNameOf, type TraceRecord } from './trace.ts';

export type SegmentKind = 'queue' | 'firstToken' | 'stream' | 'tool' | 'person' | 'other';
export type Segment = { kind: SegmentKind; fromMs: number; toMs: number };

export type Bar = {
  slot: string;
  /** `span`: of another agent, neither thought nor call. */
  kind: 'thought' | 'call' | 'span';
  /** The turn it belongs to. */
  m: number | undefined;
  /** What a span of another agent is called there. */
  name?: string;
  isOrphan?: boolean;
  step: number | null;
  purpose?: TraceRecord['purpose'];
  tool?: string | undefined;
  /** Of a model call. */
  model?: string | undefined;
  status: string | undefined;
  state: 'done' | 'running' | 'waiting' | 'lost';
  segments: Segment[];
  tokens?: { input: number; output: number } | undefined;
  costNanoUsd?: string | undefined;
  isCritical: boolean;
};

export type Waterfall = { bars: Bar[]; totalMs: number };

/** The spans of a run in story order. */
export function waterfallOf(story: Story, nowMs: number): Waterfall {
  const own = story.turns.filter(({ isSeeded }) => !isSeeded);
  const zeroMs = Date.parse(story.started?.at ?? own[0]?.thought?.startedAt ?? new Date(nowMs).toISOString());
  const clock = (iso: string | null | undefined) => (iso ? Math.max(0, Date.parse(iso) - zeroMs) : undefined);
  const presentMs = Math.max(0, nowMs - zeroMs);
  const bars: Bar[] = [];
  let readyMs = 0;
  for (const turn of own) {
    if (turn.thought) bars.push(thoughtBar(turn, turn.thought, { clock, readyMs }));
    else if (turn.lost.some(({ slot }) => slot.startsWith('thought'))) bars.push(lostThought(turn));
    const actedMs = clock(turn.acted?.at) ?? clock(turn.thought?.at) ?? readyMs;
    const calls = turn.calls.map((call) => callBar(turn, call, { clock, actedMs, presentMs }));
    markCritical(calls);
    bars.push(...calls);
    readyMs = Math.max(readyMs, actedMs, ...turn.calls.map(({ observed }) => clock(observed?.at) ?? 0));
  }
  for (const record of story.spans) if (!record.isRepeat) insert(bars, spanBar(record, clock));
  const endMs = clock(story.ended?.at) ?? (story.ended ? 0 : presentMs);
  return { bars, totalMs: Math.max(1, endMs, ...bars.flatMap(({ segments }) => segments.map(({ toMs }) => toMs))) };
}

/** Before the first bar that begins later, and before thoughts and calls that begin with it: those are within it. */
function insert(bars: Bar[], bar: Bar): void {
  const startOf = ({ segments }: Bar) => segments[0]?.fromMs ?? 0;
  const at = bars.findIndex((other) => startOf(other) - startOf(bar) > (other.kind === 'span' ? 0 : -1));
  bars.splice(at === -1 ? bars.length : at, 0, bar);
}

function spanBar(record: TraceRecord, clock: Clock): Bar {
  const fromMs = clock(record.startedAt) ?? 0;
  return {
    slot: record.slot,
    kind: 'span',
    m: undefined,
    step: null,
    name: spanNameOf(record),
    status: record.status,
    state: 'done',
    segments: [{ kind: 'other', fromMs, toMs: fromMs + (record.durationMs ?? 0) }],
    isCritical: false,
    ...(record.isOrphan ? { isOrphan: true } : {}),
  };
}

type Clock = (iso: string | null | undefined) => number | undefined;

function thoughtBar(turn: Turn, record: TraceRecord, { clock, readyMs }: { clock: Clock; readyMs: number }): Bar {
  const fact = bodyOf(record, 'thought');
  const startMs = clock(record.startedAt) ?? clock(record.at) ?? readyMs;
  const endMs = startMs + (record.durationMs ?? 0);
  const firstMs = Math.min(endMs, startMs + (fact?.firstTokenMs ?? 0));
  return {
    slot: record.slot,
    kind: 'thought',
    m: turn.m,
    step: turn.step,
    purpose: record.purpose,
    model: fact?.route?.model ?? record.model,
    status: record.status,
    state: 'done',
    segments: nonEmpty([
      { kind: 'queue', fromMs: Math.min(readyMs, startMs), toMs: startMs },
      { kind: 'firstToken', fromMs: startMs, toMs: firstMs },
      { kind: 'stream', fromMs: firstMs, toMs: endMs },
    ]),
    tokens: record.tokens,
    costNanoUsd: record.costNanoUsd,
    isCritical: true,
    ...(record.isOrphan ? { isOrphan: true } : {}),
  };
}

function lostThought({ m, step }: Turn): Bar {
  const none = { status: undefined, segments: [], isCritical: false };
  return { ...none, slot: `thought.${m}`, kind: 'thought', m, step, state: 'lost' };
}

function callBar(
  turn: Turn,
  call: StoryCall,
  { clock, actedMs, presentMs }: { clock: Clock; actedMs: number; presentMs: number },
): Bar {
  const decidedMs = clock(call.approval?.at);
  const beginsMs = decidedMs ?? actedMs;
  const person: Segment[] = decidedMs === undefined ? [] : [{ kind: 'person', fromMs: actedMs, toMs: decidedMs }];
  const base = {
    slot: call.slot,
    kind: 'call' as const,
    m: turn.m,
    step: turn.step,
    tool: call.tool,
    status: call.observed?.status,
    costNanoUsd: bodyOf(call.observed, 'observed')?.spent?.costNanoUsd,
    isCritical: false,
    ...(call.observed?.isOrphan ? { isOrphan: true } : {}),
  };
  if (call.observed) {
    const startMs = Math.max(beginsMs, clock(call.observed.startedAt) ?? beginsMs);
    const toMs = startMs + (call.observed.durationMs ?? 0);
    const run: Segment[] = [
      { kind: call.admission === 'input' ? 'person' : 'queue', fromMs: beginsMs, toMs: startMs },
      { kind: 'tool', fromMs: startMs, toMs },
    ];
    return { ...base, state: 'done', segments: nonEmpty([...person, ...run]) };
  }
  if (call.state !== 'running' && call.state !== 'waiting') return { ...base, state: 'lost', segments: person };
  const isWaiting = call.state === 'waiting';
  const open: Segment = { kind: isWaiting ? 'person' : 'tool', fromMs: beginsMs, toMs: Math.max(beginsMs, presentMs) };
  return { ...base, state: isWaiting ? 'waiting' : 'running', segments: nonEmpty([...person, open]) };
}

/** An instant keeps a place on the line. */
function nonEmpty(segments: Segment[]): Segment[] {
  const longer = segments.filter(({ fromMs, toMs }) => toMs > fromMs);
  return longer.length > 0 ? longer : segments.slice(-1);
}

function markCritical(bars: Bar[]): void {
  const endOf = ({ segments }: Bar) => segments.at(-1)?.toMs ?? -1;
  const [last] = bars.toSorted((left, right) => endOf(right) - endOf(left));
  if (last && last.segments.length > 0) last.isCritical = true;
}
