/** What a fact's record adds to its run's roll-up, and the roll-up of many. Pure. */
import type { Acted, Ended, Paused, Started } from '@pawl/contracts';
import type { FactRecord, TraceRecord } from './record.ts';
import { mergeRollUps, type RollUp, type RunEnd, type RunPause, type RunStart, type RunTurn } from './roll-up.ts';
import { safeText } from './safe-text.ts';

/** The roll-up of records of one run, in any order, repeated or not. Undefined for none. */
export function rollUp(records: Iterable<FactRecord>): RollUp | undefined {
  const bySlot = new Map<string, FactRecord>();
  for (const record of records) {
    const known = bySlot.get(record.slot);
    if (!known || record.sequence < known.sequence) bySlot.set(record.slot, record);
  }
  let result: RollUp | undefined;
  for (const record of bySlot.values()) result = mergeRollUps(result, contributionOf(record));
  return result;
}

/** What a fact's record adds. */
export function contributionOf(record: FactRecord): RollUp {
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

function partsOf({ fact, at }: FactRecord): Parts {
  switch (fact.kind) {
    case 'started':
      return { ...noParts, start: startOf(fact, at), wallClockMs: fact.limits.wallClockMs };
    case 'ended':
      return { ...noParts, end: endOf(fact, at) };
    case 'paused':
      return { ...noParts, pause: { turn: fact.k * 2, stopReason: fact.stopReason, ...outcomeOf(fact) } };
    case 'resumed': {
      const pause: RunPause = { turn: fact.k * 2 + 1, stopReason: null, answer: null, partial: false, detail: null };
      return { ...noParts, pause, wallClockMs: fact.limits.wallClockMs };
    }
    case 'acted':
      return { ...noParts, turn: turnOf(fact), toolCalls: callsSentOf(fact) };
    case 'thought':
      return { ...noParts, turn: { m: fact.m, awaiting: [], answered: [] } };
    case 'observed':
    case 'approval':
      return { ...noParts, turn: { m: fact.m, awaiting: [], answered: [String(fact.i)] } };
    case 'signal':
    case 'cancel':
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

function startOf(fact: Started, at: string): RunStart {
  return {
    rank: '',
    at,
    agent: fact.agent.name,
    revision: fact.agent.revision,
    question: safeText(fact.input),
    userId: fact.user ? safeText(fact.user.id) : null,
    session: fact.session === undefined ? null : safeText(fact.session),
    parent: fact.parent ?? null,
    forkOf: fact.forkOf ?? null,
  };
}

function endOf(fact: Ended, at: string): RunEnd {
  return { rank: '', at, ...outcomeOf(fact), stopReason: fact.stopReason, totals: totalsOf(fact) };
}

function outcomeOf({ answer, partial, detail }: Ended | Paused): {
  answer: string | null;
  partial: boolean;
  detail: string;
} {
  return { answer: answer === null ? null : safeText(answer), partial, detail: safeText(detail) };
}

function totalsOf({ steps, toolCalls, tokens, costNanoUsd }: Ended): RunEnd['totals'] {
  return { steps, toolCalls, tokens, costNanoUsd: BigInt(costNanoUsd) };
}
