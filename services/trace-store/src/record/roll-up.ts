/**
 * The roll-up of a run: what a list shows of it, made of its records. Pure.
 *
 * 1. It depends on the set of records alone: merging is associative and commutative, so no order of delivery and
 *    no grouping into batches changes it. Repetition is taken out by slot before (`rollUp`), or by the store's key.
 * 2. Each part has one source: `started` says what was asked, `ended` how it went. Counts come from the parts
 *    (thoughts, acted) until `ended` brings the totals.
 */
import { actedSchema, endedSchema, pausedSchema, resumedSchema, startedSchema } from '@pawl/contracts';
import type { TraceRecord } from './record.ts';
import { safeText } from './safe-text.ts';

/** What `started` says. */
export type RunStart = {
  at: string;
  agent: string;
  revision: string;
  question: string;
  userId: string | null;
  session: string | null;
};

/** What `ended` says. */
export type RunEnd = {
  at: string;
  stopReason: string;
  answer: string | null;
  partial: boolean;
  detail: string;
  steps: number;
  toolCalls: number;
  tokens: number;
  costNanoUsd: bigint;
};

/** The last word on pausing: an even turn is a pause, the odd turn after it its resumption. */
export type RunPause = { turn: number; stopReason: string | null };

export type RollUp = {
  start: RunStart | null;
  end: RunEnd | null;
  pause: RunPause | null;
  traceId: string | null;
  firstAt: string;
  lastAt: string;
  /** How many records there are. */
  records: number;
  steps: number;
  toolCalls: number;
  tokens: number;
  costNanoUsd: bigint;
};

export type RunStatus = 'running' | 'waiting' | 'paused' | 'ended';

/** The roll-up of records of one run, in any order, repeated or not. Undefined for none. */
export function rollUp(records: Iterable<TraceRecord>): RollUp | undefined {
  const bySlot = new Map<string, TraceRecord>();
  for (const record of records) {
    const known = bySlot.get(record.slot);
    if (!known || record.sequence < known.sequence) bySlot.set(record.slot, record);
  }
  let result: RollUp | undefined;
  for (const record of bySlot.values()) result = mergeRollUps(result, contributionOf(record));
  return result;
}

/** What one record adds. */
export function contributionOf(record: TraceRecord): RollUp {
  const isStep = record.kind === 'thought' && record.status === 'reply' && record.purpose === 'think';
  return {
    start: record.kind === 'started' ? startOf(record) : null,
    end: record.kind === 'ended' ? endOf(record) : null,
    pause: pauseOf(record),
    traceId: record.traceId,
    firstAt: record.at,
    lastAt: record.at,
    records: 1,
    steps: isStep ? 1 : 0,
    toolCalls: record.kind === 'acted' ? callsSentOf(record) : 0,
    tokens: (record.inputTokens ?? 0) + (record.outputTokens ?? 0),
    costNanoUsd: BigInt(record.costNanoUsd ?? 0),
  };
}

/** Both together. The records behind them must be distinct. */
export function mergeRollUps(left: RollUp | undefined, right: RollUp): RollUp {
  if (!left) return right;
  return {
    start: left.start ?? right.start,
    end: left.end ?? right.end,
    pause: laterPause(left.pause, right.pause),
    traceId: smaller(left.traceId, right.traceId),
    firstAt: left.firstAt < right.firstAt ? left.firstAt : right.firstAt,
    lastAt: left.lastAt > right.lastAt ? left.lastAt : right.lastAt,
    records: left.records + right.records,
    steps: left.steps + right.steps,
    toolCalls: left.toolCalls + right.toolCalls,
    tokens: left.tokens + right.tokens,
    costNanoUsd: left.costNanoUsd + right.costNanoUsd,
  };
}

/** Why the run ended or paused, as far as it did. */
export function stopReasonOf(run: Pick<RollUp, 'end' | 'pause'>): string | null {
  return run.end?.stopReason ?? run.pause?.stopReason ?? null;
}

/** Where the run stands. */
export function statusOf(run: Pick<RollUp, 'end' | 'pause'>): RunStatus {
  if (run.end) return 'ended';
  if (!run.pause || run.pause.turn % 2 === 1) return 'running';
  return run.pause.stopReason?.startsWith('waiting_') ? 'waiting' : 'paused';
}

function laterPause(left: RunPause | null, right: RunPause | null): RunPause | null {
  if (!left || !right) return left ?? right;
  return left.turn > right.turn ? left : right;
}

function smaller(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}

/** Calls that were made; the others were answered by the orchestrator itself. */
function callsSentOf(record: TraceRecord): number {
  const { calls } = actedSchema.parse(JSON.parse(record.body));
  return calls.filter(({ admission }) => admission !== 'answered').length;
}

function startOf(record: TraceRecord): RunStart {
  const fact = startedSchema.parse(JSON.parse(record.body));
  return {
    at: record.at,
    agent: fact.agent.name,
    revision: fact.agent.revision,
    question: safeText(fact.input),
    userId: fact.user ? safeText(fact.user.id) : null,
    session: fact.session === undefined ? null : safeText(fact.session),
  };
}

function endOf(record: TraceRecord): RunEnd {
  const fact = endedSchema.parse(JSON.parse(record.body));
  return {
    at: record.at,
    stopReason: fact.stopReason,
    answer: fact.answer === null ? null : safeText(fact.answer),
    partial: fact.partial,
    detail: safeText(fact.detail),
    steps: fact.steps,
    toolCalls: fact.toolCalls,
    tokens: fact.tokens,
    costNanoUsd: BigInt(fact.costNanoUsd),
  };
}

function pauseOf(record: TraceRecord): RunPause | null {
  if (record.kind === 'paused') {
    const fact = pausedSchema.parse(JSON.parse(record.body));
    return { turn: fact.k * 2, stopReason: fact.stopReason };
  }
  if (record.kind === 'resumed')
    return { turn: resumedSchema.parse(JSON.parse(record.body)).k * 2 + 1, stopReason: null };
  return null;
}
