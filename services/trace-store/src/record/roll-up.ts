/**
 * The roll-up of a run: what a list shows of it, made of its records. Pure.
 *
 * 1. It depends on the set of records alone: merging is associative and commutative, so no order of delivery and
 *    no grouping into batches changes it. Repetition is taken out by slot before (`rollUp`), or by the store's key.
 * 2. Each part has one source: `started` says what was asked, `ended` how it went. Counts come from the parts
 *    (thoughts, acted) until `ended` brings the totals.
 * 3. Money and tokens are counted at the leaves: what a sub-run used is kept apart, since it has records of its own.
 */

/** What `started` says, or the outermost span. */
export type RunStart = {
  /** Which one counts when several records could be the start: the smallest. Empty for `started`. */
  rank: string;
  at: string;
  agent: string;
  revision: string;
  question: string;
  userId: string | null;
  session: string | null;
  /** The call of another run that this run answers. */
  parent: { runId: string; m: number; i: number } | null;
  forkOf: { runId: string; fromStep: number } | null;
};

/** Totals that `ended` says; null where nobody said them and what was counted stands. */
export type RunTotals = { steps: number; toolCalls: number; tokens: number; costNanoUsd: bigint };

/** What `ended` says, or the end of the outermost span. */
export type RunEnd = {
  /** As in `RunStart`. */
  rank: string;
  at: string;
  stopReason: string;
  answer: string | null;
  partial: boolean;
  detail: string;
  totals: RunTotals | null;
};

/** The last word on pausing: an even turn is a pause, the odd turn after it its resumption. */
export type RunPause = {
  turn: number;
  stopReason: string | null;
  answer: string | null;
  partial: boolean;
  detail: string | null;
};

/**
 * Who is waited for in the latest turn: the calls that wait for a person (`0a` an approval, `1i` an input), and those
 * that were answered. A later turn proves that all of an earlier one are.
 */
export type RunTurn = { m: number; awaiting: readonly string[]; answered: readonly string[] };

export type RollUp = {
  source: 'pawl' | 'otlp';
  start: RunStart | null;
  end: RunEnd | null;
  pause: RunPause | null;
  turn: RunTurn | null;
  /** How long the run may be silent without being lost: the longest wall clock that it was given. */
  wallClockMs: number | null;
  /** Names of the tools that were observed, sorted, at most TOOLS_MAX. */
  tools: readonly string[];
  traceId: string | null;
  firstAt: string;
  lastAt: string;
  /** How many records there are. */
  records: number;
  steps: number;
  toolCalls: number;
  tokens: number;
  costNanoUsd: bigint;
  subTokens: number;
  subCostNanoUsd: bigint;
};

export type RunStatus = 'running' | 'waiting' | 'paused' | 'ended';

/** How many names of tools a roll-up holds. */
export const TOOLS_MAX = 100;

/** Both together. The records behind them must be distinct. */
export function mergeRollUps(left: RollUp | undefined, right: RollUp): RollUp {
  if (!left) return right;
  return {
    source: left.source,
    start: firstRanked(left.start, right.start),
    end: firstRanked(left.end, right.end),
    pause: laterPause(left.pause, right.pause),
    turn: laterTurn(left.turn, right.turn),
    wallClockMs: larger(left.wallClockMs, right.wallClockMs),
    tools: unionOf(left.tools, right.tools, TOOLS_MAX),
    traceId: smaller(left.traceId, right.traceId),
    firstAt: left.firstAt < right.firstAt ? left.firstAt : right.firstAt,
    lastAt: left.lastAt > right.lastAt ? left.lastAt : right.lastAt,
    records: left.records + right.records,
    steps: left.steps + right.steps,
    toolCalls: left.toolCalls + right.toolCalls,
    tokens: left.tokens + right.tokens,
    costNanoUsd: left.costNanoUsd + right.costNanoUsd,
    subTokens: left.subTokens + right.subTokens,
    subCostNanoUsd: left.subCostNanoUsd + right.subCostNanoUsd,
  };
}

/** Why the run ended, paused or waits, as far as it does. */
export function stopReasonOf(run: Pick<RollUp, 'end' | 'pause' | 'turn'>): string | null {
  if (run.end) return run.end.stopReason;
  if (isPaused(run)) return run.pause?.stopReason ?? null;
  const [waiting] = waitingCalls(run.turn);
  if (waiting === undefined) return null;
  return waiting.endsWith('a') ? 'waiting_approval' : 'waiting_input';
}

/** Where the run stands. */
export function statusOf(run: Pick<RollUp, 'end' | 'pause' | 'turn'>): RunStatus {
  if (run.end) return 'ended';
  if (isPaused(run)) return run.pause?.stopReason?.startsWith('waiting_') ? 'waiting' : 'paused';
  return waitingCalls(run.turn).length > 0 ? 'waiting' : 'running';
}

function isPaused({ pause }: Pick<RollUp, 'pause'>): boolean {
  return pause !== null && pause.turn % 2 === 0;
}

/** The calls of the latest turn that wait for a person and have no answer. */
function waitingCalls(turn: RunTurn | null): string[] {
  if (!turn) return [];
  return turn.awaiting.filter((call) => !turn.answered.includes(call.slice(0, -1)));
}

function firstRanked<T extends { rank: string }>(left: T | null, right: T | null): T | null {
  if (!left || !right) return left ?? right;
  return right.rank < left.rank ? right : left;
}

function laterPause(left: RunPause | null, right: RunPause | null): RunPause | null {
  if (!left || !right) return left ?? right;
  return left.turn > right.turn ? left : right;
}

function laterTurn(left: RunTurn | null, right: RunTurn | null): RunTurn | null {
  if (!left || !right) return left ?? right;
  if (left.m !== right.m) return left.m > right.m ? left : right;
  return {
    m: left.m,
    awaiting: unionOf(left.awaiting, right.awaiting),
    answered: unionOf(left.answered, right.answered),
  };
}

/** The smallest of both, sorted: a bound that depends on no order. */
function unionOf(left: readonly string[], right: readonly string[], countMax = Infinity): readonly string[] {
  if (right.every((item) => left.includes(item))) return left;
  return [...new Set([...left, ...right])].toSorted().slice(0, countMax);
}

function smaller(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}

function larger(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.max(left, right);
}
