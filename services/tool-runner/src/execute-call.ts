/**
 * Has a kind execute a call whose arguments were checked: tries again where that is harmless, lets an upstream in trouble rest, and
 * is over when the call's time is. What a write still says after that is told to who wants to keep it, and changes nothing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '@pawl/contracts';
import { withTrace } from '@pawl/telemetry';
import { upstreamOf, type Circuits } from './call/circuit.ts';
import { mayTryAgain } from './call/observation-of.ts';
import type { CallTimes } from './call-clock.ts';
import { BrokenOffError, refusal, type Failure, type Outcome } from './call/outcome.ts';
import type { Kind, KindCall } from './kinds/kind.ts';

export type Execution = {
  kind: Kind;
  call: KindCall;
  circuits: Circuits;
  times: CallTimes;
  /** Gets the outcome of a call that was given up because its time was over. Without it such a call is broken off at once. */
  onLate?: (outcome: Outcome) => Promise<void>;
  /** Shared by all calls of the process. */
  lateCalls: LateCalls;
};

/** How many calls that were given up may still tell what they did. */
export type LateCalls = { underWay: number };

const lateCallsMax = 256;
const retryDelayMs = 100;
/** How long a write that was given up may still tell what it did. */
const lateWithinMs = 60_000;

export async function executeCall(execution: Execution): Promise<{ outcome: Outcome; attempt: number }> {
  const { call, circuits } = execution;
  const upstream = upstreamOf(call.tool);
  for (let attempt = 1; ; attempt += 1) {
    if (upstream !== undefined && !circuits.mayCall(upstream, performance.now())) return { outcome: resting, attempt };
    const outcome = await executeOnce(execution);
    if (upstream !== undefined) circuits.tell(upstream, outcome, performance.now());
    if (!mayTryAgain(call.tool.spec, outcome, attempt)) return { outcome, attempt };
    const isOver = await delay(retryDelayMs, false, { signal: call.signal }).catch(() => true);
    if (isOver) return { outcome, attempt };
  }
}

const resting = refusal(
  'tool_unreachable',
  'What the tool talks to has failed several times in a row and is left alone for a few seconds.',
  'Go on without it, or use another tool.',
);

/** Ends as soon as the signal is aborted, also where a kind is slow to let go. */
async function executeOnce({ kind, call, times, onLate, lateCalls }: Execution): Promise<Outcome> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  let isGivenUp = false;
  const onAbort = () => {
    isGivenUp = true;
    reject(call.signal.reason as Error);
  };
  call.signal.addEventListener('abort', onAbort, { once: true });
  try {
    call.signal.throwIfAborted();
    const { signal, done } = onLate ? signalWithDelay(call.signal, lateCalls) : { signal: call.signal, done: () => {} };
    const running = withTrace(call.trace, () => kind.execute({ ...call, signal })).finally(done);
    running.then((outcome) => (isGivenUp ? onLate?.(outcome) : undefined)).catch(() => {});
    return await Promise.race([running, aborted]);
  } catch (error) {
    const reason: unknown = call.signal.aborted ? call.signal.reason : error;
    if (reason instanceof BrokenOffError) return brokenOff(reason, times);
    return error instanceof UnavailableError ? withoutStore(error) : mistake(error);
  } finally {
    call.signal.removeEventListener('abort', onAbort);
  }
}

/** Follows a signal: at once where the run was stopped, later where only the time was over and there is room for it. */
function signalWithDelay(signal: AbortSignal, lateCalls: LateCalls): { signal: AbortSignal; done: () => void } {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const { reason } = signal;
    const isLate = reason instanceof BrokenOffError && reason.by !== 'cancelled' && lateCalls.underWay < lateCallsMax;
    if (!isLate) return controller.abort(reason);
    lateCalls.underWay += 1;
    timer = setTimeout(() => controller.abort(reason), lateWithinMs).unref();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const done = () => {
    signal.removeEventListener('abort', onAbort);
    if (timer === undefined) return;
    clearTimeout(timer);
    lateCalls.underWay -= 1;
  };
  return { signal: controller.signal, done };
}

/** What a call that was broken off came to; `possible` unless it had not begun. */
export function brokenOff({ by }: BrokenOffError, { timeoutMs, idleMs }: CallTimes): Failure {
  if (by === 'cancelled') {
    return {
      kind: 'failure',
      code: 'run_stopped',
      message: 'The run was stopped while the tool was at work.',
      isTransient: false,
      effect: 'possible',
    };
  }
  return {
    kind: 'failure',
    code: 'tool_timeout',
    message:
      by === 'idle'
        ? `The tool gave no sign of life for ${(idleMs ?? 0) / 1_000} s.`
        : `The tool did not answer within ${timeoutMs / 1_000} s.`,
    suggestion: 'Ask for less, or use another tool.',
    isTransient: false,
    effect: 'possible',
  };
}

/** Where results are kept could not be reached, while the tool may well have done its work. */
function withoutStore(error: UnavailableError): Outcome {
  return {
    kind: 'failure',
    code: 'tool_failed',
    message: 'The result of the tool could not be kept or read for the moment.',
    suggestion: 'Call it again later, or use another tool.',
    rawError: error.message,
    isTransient: true,
    effect: 'possible',
  };
}

/** A bug of a kind costs this call, not the run. */
function mistake(error: unknown): Outcome {
  return {
    kind: 'failure',
    code: 'internal_error',
    message: 'The tool could not be run because of a mistake on our side.',
    suggestion: 'Use another tool.',
    rawError: error instanceof Error ? (error.stack ?? error.message) : String(error),
    isTransient: false,
    effect: 'possible',
  };
}
