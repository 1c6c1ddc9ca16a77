/** The times of one call: its deadline, and how long its tool may stay without a sign of life. Aborts with a `BrokenOffError`. */
import { BrokenOffError } from './call/outcome.ts';

export type CallClock = {
  /** The tool is at work from now on; until then, it can't show life. */
  begin(): void;
  onLife(): void;
  stop(): void;
};

export type CallTimes = {
  timeoutMs: number;
  /** Undefined where the deadline alone rules. */
  idleMs: number | undefined;
};

export function createCallClock({ timeoutMs, idleMs }: CallTimes, controller: AbortController): CallClock {
  const deadline = setTimeout(() => controller.abort(new BrokenOffError('timeout')), timeoutMs);
  let idle: NodeJS.Timeout | undefined;
  let lastLifeAtMs = 0;
  const watch = (afterMs: number, limitMs: number) => {
    idle = setTimeout(() => {
      const silentMs = performance.now() - lastLifeAtMs;
      // A timer may ring a little early.
      if (silentMs >= limitMs - 1) controller.abort(new BrokenOffError('idle'));
      else watch(limitMs - silentMs, limitMs);
    }, afterMs);
  };
  return {
    begin() {
      lastLifeAtMs = performance.now();
      if (idleMs !== undefined && idle === undefined && idleMs < timeoutMs) watch(idleMs, idleMs);
    },
    onLife: () => void (lastLifeAtMs = performance.now()),
    stop() {
      clearTimeout(deadline);
      clearTimeout(idle);
    },
  };
}
