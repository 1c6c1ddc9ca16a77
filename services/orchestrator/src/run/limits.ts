/**
 * Every limit of a run, its default, and when it stops the run (I8). Checked before anything else is decided.
 * A reserve of each limit is kept back for the closing call, so that a run that hits one can still give its best answer.
 */
import { durationMs, parseNano, RejectedError, type Limits, type SettledLimits, type StopReason } from '@pawl/contracts';
import type { RunState } from './state.ts';
import { totalsOf } from './totals.ts';

export const defaultLimits: SettledLimits = {
  steps: 10,
  toolCalls: 20,
  wallClockMs: 120_000,
  tokens: 50_000,
  spendNanoUsd: parseNano('0.40').toString(),
};

/** Output tokens that a thought may have at the most, and below which asking for one makes no sense. */
export const outputTokens = { max: 4_096, min: 64, closing: 1_000 } as const;

/** How long to wait, beyond the deadline or a cancel, for those who are at work to let go by themselves. */
export const graceMs = 1_500;

/** The limits of a run: its own, else its agent's, else the defaults. */
export function settleLimits(agent: Limits | undefined, run: Limits | undefined): SettledLimits {
  const limits = { ...agent, ...run };
  if (limits.spend && limits.spend.currency !== 'USD') {
    throw new RejectedError('not_supported', `limits.spend: ${limits.spend.currency} is not supported yet, use USD`);
  }
  return {
    steps: limits.steps ?? defaultLimits.steps,
    toolCalls: limits.toolCalls ?? defaultLimits.toolCalls,
    wallClockMs: limits.wallClock ? durationMs(limits.wallClock) : defaultLimits.wallClockMs,
    tokens: limits.tokens ?? defaultLimits.tokens,
    spendNanoUsd: limits.spend ? parseNano(limits.spend.amount).toString() : defaultLimits.spendNanoUsd,
  };
}

/** When the loop has to stop so that the closing call still fits: the deadline less a tenth of the wall clock, 10 s at the most. */
export function closingTimeMs(state: RunState): number {
  return Date.parse(state.started.deadlineAt) - Math.min(10_000, state.started.limits.wallClockMs / 10);
}

/** What a call may make the run cost in all: the tenth that is kept back is for the closing call alone. */
export function spendLimitFor(limits: SettledLimits, purpose: 'loop' | 'conclude'): bigint {
  const limit = BigInt(limits.spendNanoUsd);
  return purpose === 'conclude' ? limit : limit - limit / 10n;
}

/**
 * Output tokens that the next call may have, given the tokens that its prompt is reckoned to have.
 * Calls of the loop leave room for a closing call with as long a prompt. Negative or small: there is no room.
 */
export function outputRoom(state: RunState, purpose: 'loop' | 'conclude', promptTokens: number): number {
  const left = state.started.limits.tokens - totalsOf(state).tokens - promptTokens;
  const reserve = purpose === 'conclude' ? 0 : promptTokens + outputTokens.closing;
  return Math.min(outputTokens.max, left - reserve);
}

/** The limit that stops the loop now, or undefined while it may go on. */
export function limitReached(state: RunState, nowMs: number, promptTokens: number): StopReason | undefined {
  const { limits } = state.started;
  const totals = totalsOf(state);
  if (nowMs >= closingTimeMs(state)) return 'deadline';
  if (totals.costNanoUsd >= spendLimitFor(limits, 'loop')) return 'max_spend';
  if (outputRoom(state, 'loop', promptTokens) < outputTokens.min) return 'max_tokens';
  if (totals.steps >= limits.steps) return 'max_steps';
  if (wasDeniedForCount(state)) return 'max_tool_calls';
  return undefined;
}

/** Whether the model asked for more calls than the run has: it was told so, and has to answer now. */
function wasDeniedForCount(state: RunState): boolean {
  return Object.values(state.turns.at(-1)?.observed ?? {}).some(
    (observed) => observed.observation.errorCode === 'too_many_tool_calls',
  );
}
