/** A run and its records as the traces API gives them, and as the event stream of a running run adds to them. Pure. */
import type { Fact, FactKind, Purpose } from '@pawl/contracts';
import type { TracedRun } from '../../../src/http/run-view.ts';

export type { TracedRun };

/** One record. `body` is its fact; a large one is behind `bodyRef` instead. */
export type TraceRecord = {
  seq: number;
  slot: string;
  /** `span`: a span of another agent that is neither thought nor call of the story. */
  kind: FactKind | 'span';
  step: number | null;
  m?: number;
  i?: number;
  purpose?: Purpose;
  callId?: string;
  tool?: string;
  status?: string;
  at: string;
  startedAt: string | null;
  durationMs: number | null;
  traceId: string | null;
  spanId: string | null;
  parentSpanId?: string;
  /** Whether its parent has not come. */
  isOrphan?: boolean;
  /** Whether it reports a call once more, and does not count. */
  isRepeat?: boolean;
  model?: string;
  tokens?: { input: number; output: number };
  costNanoUsd?: string;
  marks?: string[];
  body?: Fact;
  bodyRef?: string;
  /** Whether a fork took it over from the run it comes from. */
  isSeeded?: boolean;
};

export type UnreadableSlot = { slot: string; reason: string; sizeBytes: number };

export type Trace = {
  run: TracedRun;
  records: TraceRecord[];
  missing: string[];
  unreadable: UnreadableSlot[];
  /** Where the run's spans can be seen elsewhere. */
  links?: { trace: string | null };
  /** `explained`: the reader gets to see no thoughts. */
  lens?: 'whole' | 'explained';
};

/** The body of a record that is known to be of a kind, or undefined when it has not been loaded. */
export function bodyOf<K extends FactKind>(
  record: TraceRecord | undefined,
  kind: K,
): Extract<Fact, { kind: K }> | undefined {
  return record?.body?.kind === kind ? (record.body as Extract<Fact, { kind: K }>) : undefined;
}

/** What a run cost, where that is known: other agents rarely tell. */
export function costOfRun({ source, cost }: TracedRun): TracedRun['cost'] | undefined {
  return source === 'otlp' && cost.nanoUsd === '0' ? undefined : cost;
}

/** What a span of another agent is called there. */
export function spanNameOf({ body, slot }: TraceRecord): string {
  const { spanName, name } = (body ?? {}) as { spanName?: unknown; name?: unknown };
  return [spanName, name].find((each) => typeof each === 'string') ?? slot;
}

/** The record of a fact, as the trace store will show it. `seq` is the fact's place in the log. */
export function recordOfFact(fact: Fact, { seq, slot }: { seq: number; slot: string }): TraceRecord {
  const base = { seq, slot, kind: fact.kind, step: null, at: fact.at, traceId: null, spanId: null, body: fact };
  switch (fact.kind) {
    case 'thought':
      return {
        ...base,
        m: fact.m,
        purpose: fact.purpose,
        status: fact.outcome,
        startedAt: fact.startedAt,
        durationMs: fact.durationMs,
        tokens: { input: fact.usage.inputTokens, output: fact.usage.outputTokens },
        costNanoUsd: fact.costNanoUsd,
      };
    case 'observed':
      return {
        ...base,
        m: fact.m,
        i: fact.i,
        callId: fact.callId,
        tool: fact.tool,
        status: fact.observation.status,
        startedAt: fact.startedAt,
        durationMs: fact.durationMs,
      };
    case 'acted':
      return { ...base, m: fact.m, step: fact.step, startedAt: null, durationMs: null };
    case 'approval':
      return {
        ...base,
        m: fact.m,
        i: fact.i,
        callId: fact.callId,
        status: fact.decision,
        startedAt: null,
        durationMs: null,
      };
    default:
      return { ...base, startedAt: null, durationMs: null };
  }
}

/** The slot of a fact; as in contracts, without loading them. */
export function slotOfFact(fact: Fact): string {
  switch (fact.kind) {
    case 'thought':
    case 'acted':
      return `${fact.kind}.${fact.m}`;
    case 'observed':
    case 'approval':
      return `${fact.kind}.${fact.m}.${fact.i}`;
    case 'signal':
      return `signal.${fact.id}`;
    case 'paused':
    case 'resumed':
      return `${fact.kind}.${fact.k}`;
    default:
      return fact.kind;
  }
}

/** A trace with what the event stream brought since: records by slot, and where the run stands. */
export function withLiveFacts(trace: Trace, live: readonly { seq: number; fact: Fact }[]): Trace {
  if (live.length === 0) return trace;
  const have = new Set(trace.records.map(({ slot }) => slot));
  const added: TraceRecord[] = [];
  for (const { seq, fact } of live) {
    const slot = slotOfFact(fact);
    if (have.has(slot)) continue;
    have.add(slot);
    added.push(recordOfFact(fact, { seq, slot }));
  }
  if (added.length === 0) return trace;
  return {
    ...trace,
    run: runAfter(trace.run, added),
    records: [...trace.records, ...added],
    missing: trace.missing.filter((slot) => !have.has(slot)),
  };
}

function runAfter(run: TracedRun, added: readonly TraceRecord[]): TracedRun {
  let result = run;
  for (const { body, at, tokens, costNanoUsd } of added) {
    result = { ...result, lastAt: at > result.lastAt ? at : result.lastAt };
    if (tokens) result = { ...result, tokens: result.tokens + tokens.input + tokens.output };
    if (costNanoUsd) result = { ...result, cost: addNano(result.cost, costNanoUsd) };
    if (body?.kind === 'thought' && body.purpose === 'think' && body.outcome === 'reply') {
      result = { ...result, steps: result.steps + 1 };
    }
    if (body?.kind === 'resumed') result = { ...result, status: 'running', stopReason: null };
    if (body?.kind !== 'ended' && body?.kind !== 'paused') continue;
    const { stopReason, answer, partial, detail, steps, toolCalls, durationMs } = body;
    const isEnd = body.kind === 'ended';
    result = { ...result, stopReason, answer, partial, detail, steps, toolCalls, durationMs };
    result = { ...result, status: isEnd ? 'ended' : 'paused', endedAt: isEnd ? at : null };
  }
  return result;
}

function addNano(cost: TracedRun['cost'], nanoUsd: string): TracedRun['cost'] {
  const sum = (BigInt(cost.nanoUsd) + BigInt(nanoUsd)).toString();
  const digits = sum.padStart(10, '0');
  return { ...cost, nanoUsd: sum, amount: `${digits.slice(0, -9)}.${digits.slice(-9)}` };
}
