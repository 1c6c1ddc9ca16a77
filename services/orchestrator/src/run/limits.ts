/**
 * Every limit of a run, its default, and when it stops the run (I8). Checked before anything else is decided.
 * A reserve of each limit is kept back for the closing call, so that a run that hits one can still give its best answer.
 */
import {
  durationMs,
  parseNano,
  RejectedError,
  type AgentSpec,
  type Limits,
  type SettledLimits,
  type StopReason,
} from '@pawl/contracts';
import { limitsOf, type RunState } from './state.ts';
import { totalsOf } from './totals.ts';
import { hasOpenSubRun, waitedMs } from './waiting.ts';

export const defaultLimits: SettledLimits = {
  steps: 10,
  toolCalls: 20,
  wallClockMs: 120_000,
  tokens: 50_000,
  spendNanoUsd: parseNano('0.40').toString(),
};

/** Rounds, counts and tries that are no budget but keep a run from going in circles. */
export function guardsOf(spec: AgentSpec) {
  return {
    identicalActions: spec.guards?.identicalActions ?? 2,
    noNewInformation: spec.guards?.noNewInformation ?? 3,
    toolFailures: spec.guards?.toolFailures ?? 3,
    reflectionEvery: spec.reflection?.every ?? 3,
    compressionEvery: spec.compression?.every ?? 5,
    compressionTokens: spec.compression?.tokens ?? 300,
    answerRepairs: spec.guards?.answerRepairs ?? 2,
    emptyReplies: 2,
  };
}

/** Characters of a result that the model sees at once. */
export function observationCharsOf(spec: AgentSpec): number {
  return spec.observation?.maxChars ?? 2_000;
}

/**
 * Output tokens that a thought may have at the most, and below which asking for one makes no sense; the same for a closing
 * call, whose least is what money is kept back for.
 */
export const outputTokens = { max: 4_096, min: 64, closing: 1_000, closingMin: 256 } as const;

/** How long to wait, beyond the deadline or a cancel, for those who are at work to let go by themselves. */
export const graceMs = 1_500;

/** How deep sub-runs may be nested. */
export const subRunDepthMax = 5;

/** How long a call waits for approval when its rule doesn't say. */
export const approvalExpiresAfterMs = durationMs('24h');

/** The limits of a run: its own, else its agent's, else the defaults. */
export function settleLimits(agent: Limits | undefined, run: Limits | undefined): SettledLimits {
  return raiseLimits(defaultLimits, { ...agent, ...run });
}

/** Limits with those changed that are given. */
export function raiseLimits(from: SettledLimits, change: Limits): SettledLimits {
  if (change.spend && change.spend.currency !== 'USD') {
    throw new RejectedError('not_supported', `limits.spend: ${change.spend.currency} is not supported yet, use USD`);
  }
  return {
    steps: change.steps ?? from.steps,
    toolCalls: change.toolCalls ?? from.toolCalls,
    wallClockMs: change.wallClock ? durationMs(change.wallClock) : from.wallClockMs,
    tokens: change.tokens ?? from.tokens,
    spendNanoUsd: change.spend ? parseNano(change.spend.amount).toString() : from.spendNanoUsd,
  };
}

/** When the wall clock runs out, times of waiting for people not counted. */
export function deadlineMs(state: RunState, nowMs: number): number {
  const resumed = state.resumes.at(-1)?.resumed;
  const fromMs = Date.parse(resumed?.at ?? state.started.at);
  const countedMs = Date.parse(resumed?.deadlineAt ?? state.started.deadlineAt) + waitedMs(state, { fromMs, nowMs });
  // A sub-run ends by a deadline of its own, which is no later. When it does not, it waits for a person, and so does this run.
  return hasOpenSubRun(state) ? Math.max(countedMs, nowMs + closingReserveMs(state)) : countedMs;
}

/** When the loop has to stop so that the closing call still fits: the deadline less a tenth of the wall clock, 10 s at the most. */
export function closingTimeMs(state: RunState, nowMs: number): number {
  return deadlineMs(state, nowMs) - closingReserveMs(state);
}

function closingReserveMs(state: RunState): number {
  return Math.min(10_000, limitsOf(state).wallClockMs / 10);
}

/** What the loop may make the run cost in all: a tenth, at the least, is kept back for the closing call. */
export function spendLimitOfLoop(limits: SettledLimits): bigint {
  const limit = BigInt(limits.spendNanoUsd);
  return limit - limit / 10n;
}

/**
 * Output tokens that the next call of the loop may have, given the tokens that its prompt is reckoned to have. It leaves room
 * for a closing call with as long a prompt. Negative or small: there is no room.
 */
export function outputRoom(state: RunState, promptTokens: number): number {
  const left = limitsOf(state).tokens - totalsOf(state).tokens - promptTokens;
  return Math.min(outputTokens.max, left - (promptTokens + outputTokens.closing));
}

/** The limit that stops the loop now, or undefined while it may go on. */
export function limitReached(state: RunState, nowMs: number, promptTokens: number): StopReason | undefined {
  const limits = limitsOf(state);
  const totals = totalsOf(state);
  if (nowMs >= closingTimeMs(state, nowMs)) return 'deadline';
  if (totals.costNanoUsd >= spendLimitOfLoop(limits)) return 'max_spend';
  if (outputRoom(state, promptTokens) < outputTokens.min) return 'max_tokens';
  if (totals.steps >= limits.steps) return 'max_steps';
  if (wasDeniedForCount(state) && totals.toolCalls >= limits.toolCalls) return 'max_tool_calls';
  return undefined;
}

/** Whether the model asked for more calls than the run had: it was told so, and has to answer now. */
function wasDeniedForCount(state: RunState): boolean {
  return state.turns.some((turn) =>
    Object.values(turn.observed).some(({ observation }) => observation.errorCode === 'too_many_tool_calls'),
  );
}
