/** The limits of one model call: an own limit for each phase of the stream, and one for everything. */

export type Phase = 'headers' | 'firstToken' | 'idle' | 'total';

export type Timeouts = { connectMs: number; headersMs: number; firstTokenMs: number; idleMs: number; totalMs: number };

/** Why a call was ended from here, as the reason of its abort signal. */
export type Stop =
  | { kind: 'timeout'; phase: Phase; limitMs: number }
  /** The run's own deadline. */
  | { kind: 'deadline' }
  /** The run was cancelled or ended. */
  | { kind: 'run-stopped' }
  /** Whoever asked over HTTP has gone. */
  | { kind: 'client-left' }
  /** This process stops; another will do the work. */
  | { kind: 'shutdown' }
  /** What was held ahead for the call is not there any more. */
  | { kind: 'not-held' };

export type CallClock = {
  /** The head of the response came: from now on the first token is waited for. */
  onHeaders(): void;
  /** A part of the reply came. */
  onContent(): void;
  end(): void;
};

/**
 * Starts the clock, in the phase `headers`, which includes the time to connect. `leftMs`: until the run's deadline. `stop` is
 * called at most once, by the first limit that is hit.
 */
export function startCallClock(timeouts: Timeouts, leftMs: number, stop: (reason: Stop) => void): CallClock {
  let phaseTimer: NodeJS.Timeout | undefined;
  let current: Phase | undefined;
  const enter = (phase: Exclude<Phase, 'total'>, limitMs: number) => {
    if (phase === current) return void phaseTimer?.refresh();
    current = phase;
    clearTimeout(phaseTimer);
    phaseTimer = setTimeout(() => stop({ kind: 'timeout', phase, limitMs }), limitMs);
  };
  const totalTimer = setTimeout(
    () =>
      stop(
        leftMs < timeouts.totalMs
          ? { kind: 'deadline' }
          : { kind: 'timeout', phase: 'total', limitMs: timeouts.totalMs },
      ),
    Math.max(0, Math.min(leftMs, timeouts.totalMs)),
  );
  enter('headers', timeouts.headersMs);
  return {
    onHeaders: () => enter('firstToken', timeouts.firstTokenMs),
    onContent: () => enter('idle', timeouts.idleMs),
    end() {
      clearTimeout(phaseTimer);
      clearTimeout(totalTimer);
    },
  };
}
