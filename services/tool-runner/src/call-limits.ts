/** How many calls of one pool, of one app, and of one tool, are under way at once; more wait in line, up to their own deadline. */

export type CallLimits = {
  /** Waits for room and gives what ends the stay. Rejects with the signal's reason. */
  enter(keys: readonly string[], signal: AbortSignal): Promise<() => void>;
};

type Line = { free: number; waiting: (() => void)[] };

/** `max` is the number for each key. */
export function createCallLimits(maxOf: (key: string) => number): CallLimits {
  const lines = new Map<string, Line>();

  const leave = (key: string) => {
    const line = lines.get(key);
    if (!line) return;
    const next = line.waiting.shift();
    if (next) return next();
    line.free += 1;
    if (line.free === maxOf(key)) lines.delete(key);
  };

  const lineOf = (key: string): Line => {
    const line = lines.get(key) ?? { free: maxOf(key), waiting: [] };
    lines.set(key, line);
    return line;
  };

  const waitIn = async (line: Line, signal: AbortSignal): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => {
      line.waiting = line.waiting.filter((each) => each !== resolve);
      reject(signal.reason as Error);
    };
    line.waiting.push(resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', onAbort));
  };

  return {
    async enter(keys, signal) {
      const entered: string[] = [];
      const leaveAll = () => entered.splice(0).forEach(leave);
      try {
        for (const key of keys) {
          signal.throwIfAborted();
          const line = lineOf(key);
          if (line.free > 0) line.free -= 1;
          else await waitIn(line, signal);
          entered.push(key);
        }
        return leaveAll;
      } catch (error) {
        leaveAll();
        throw error;
      }
    },
  };
}
