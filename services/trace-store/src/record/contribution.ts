/** What a fact's record adds to its run's roll-up, and the roll-up of many. Pure. */
import {
  actedSchema,
  endedSchema,
  pausedSchema,
  resumedSchema,
  startedSchema,
  type Acted,
  type Fact,
} from '@pawl/contracts';
import type { TraceRecord } from './record.ts';
import { mergeRollUps, type RollUp, type RunEnd, type RunPause, type RunStart, type RunTurn } from './roll-up.ts';
import { safeText } from './safe-text.ts';

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

/** What a fact's record adds. */
export function contributionOf(record: TraceRecord): RollUp {
  return {
    ...countsOf(record),
    source: 'pawl',
    ...partsOf(record),
    tools: record.kind === 'observed' && record.tool !== null ? [toolName(record.tool)] : [],
  };
}

/** What can be counted in the columns of a record alone. */
export function countsOf(record: TraceRecord): Omit<RollUp, 'source' | 'tools' | keyof typeof noParts> {
  const isStep = record.kind === 'thought' && record.status === 'reply' && record.purpose === 'think';
  return {
    traceId: record.traceId,
    firstAt: record.at,
    lastAt: record.at,
    records: 1,
    steps: isStep ? 1 : 0,
    tokens: (record.inputTokens ?? 0) + (record.outputTokens ?? 0),
    costNanoUsd: BigInt(record.costNanoUsd ?? 0),
    subTokens: record.subTokens ?? 0,
    subCostNanoUsd: BigInt(record.subCostNanoUsd ?? 0),
  };
}

/** A tool's name as a line of a list. */
export function toolName(name: string): string {
  return safeText(name).replaceAll('\n', ' ').slice(0, 200);
}

/** What few records say. */
export const noParts = {
  start: null,
  end: null,
  pause: null,
  turn: null,
  wallClockMs: null,
  toolCalls: 0,
} satisfies Partial<RollUp>;

type Parts = Pick<RollUp, keyof typeof noParts>;

function partsOf(record: TraceRecord): Parts {
  switch (record.kind) {
    case 'started':
      return startedParts(record);
    case 'ended':
      return { ...noParts, end: endOf(record) };
    case 'paused':
      return { ...noParts, pause: pauseOf(record) };
    case 'resumed': {
      const { k, limits } = resumedSchema.parse(JSON.parse(record.body));
      const pause: RunPause = { turn: k * 2 + 1, stopReason: null, answer: null, partial: false, detail: null };
      return { ...noParts, pause, wallClockMs: limits.wallClockMs };
    }
    case 'acted': {
      const acted = actedSchema.parse(JSON.parse(record.body));
      return { ...noParts, turn: turnOf(acted), toolCalls: callsSentOf(acted) };
    }
    case 'thought':
    case 'observed':
    case 'approval': {
      const answered = record.kind === 'thought' || record.i === null ? [] : [String(record.i)];
      return { ...noParts, turn: record.m === null ? null : { m: record.m, awaiting: [], answered } };
    }
    case 'signal':
    case 'cancel':
    case 'span':
      return noParts;
  }
}

const awaited: Partial<Record<Acted['calls'][number]['admission'], string>> = { approval: 'a', input: 'i' };

function turnOf({ m, calls }: Acted): RunTurn {
  const awaiting = calls.flatMap(({ i, admission }) => {
    const whom = awaited[admission];
    return whom === undefined ? [] : [`${i}${whom}`];
  });
  return { m, awaiting: awaiting.toSorted(), answered: [] };
}

/** Calls that were made; the others were answered by the orchestrator itself. */
function callsSentOf({ calls }: Acted): number {
  return calls.filter(({ admission }) => admission !== 'answered').length;
}

function startedParts(record: TraceRecord): Parts {
  const fact = startedSchema.parse(JSON.parse(record.body));
  const start: RunStart = {
    rank: '',
    at: record.at,
    agent: fact.agent.name,
    revision: fact.agent.revision,
    question: safeText(fact.input),
    userId: fact.user ? safeText(fact.user.id) : null,
    session: fact.session === undefined ? null : safeText(fact.session),
    parent: fact.parent ?? null,
    forkOf: fact.forkOf ?? null,
  };
  return { ...noParts, start, wallClockMs: fact.limits.wallClockMs };
}

function endOf(record: TraceRecord): RunEnd {
  const fact = endedSchema.parse(JSON.parse(record.body));
  return { rank: '', at: record.at, ...outcomeOf(fact), stopReason: fact.stopReason, totals: totalsOf(fact) };
}

function pauseOf(record: TraceRecord): RunPause {
  const fact = pausedSchema.parse(JSON.parse(record.body));
  return { turn: fact.k * 2, stopReason: fact.stopReason, ...outcomeOf(fact) };
}

type Outcome = Extract<Fact, { kind: 'ended' | 'paused' }>;

function outcomeOf({ answer, partial, detail }: Outcome): { answer: string | null; partial: boolean; detail: string } {
  return { answer: answer === null ? null : safeText(answer), partial, detail: safeText(detail) };
}

function totalsOf({ steps, toolCalls, tokens, costNanoUsd }: Outcome): RunEnd['totals'] {
  return { steps, toolCalls, tokens, costNanoUsd: BigInt(costNanoUsd) };
}
