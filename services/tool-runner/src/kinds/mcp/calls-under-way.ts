/**
 * The calls under way on one connection. Over standard streams nothing tells which of several calls a question of the server belongs
 * to; once one came that could not be told, each further call waits until it is alone.
 */
export type CallsUnderWay<Call> = {
  /** Runs a call. Throws the reason of its signal when that is aborted before its turn has come. */
  run<T>(call: Call, signal: AbortSignal, body: () => Promise<T>): Promise<T>;
  /** The one call that is under way; where there are several, none, and from now on they take turns. */
  onlyOne(): Call | undefined;
};

export function createCallsUnderWay<Call>(): CallsUnderWay<Call> {
  const ends = new Map<Call, Promise<void>>();
  let areInTurn = false;
  return {
    async run(call, signal, body) {
      while (areInTurn && ends.size > 0) await unlessAborted(signal, Promise.race(ends.values()));
      const end = Promise.withResolvers<void>();
      ends.set(call, end.promise);
      try {
        return await body();
      } finally {
        ends.delete(call);
        end.resolve();
      }
    },
    onlyOne() {
      const [only, ...others] = ends.keys();
      areInTurn ||= others.length > 0;
      return others.length === 0 ? only : undefined;
    },
  };
}

async function unlessAborted(signal: AbortSignal, promise: Promise<void>): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
