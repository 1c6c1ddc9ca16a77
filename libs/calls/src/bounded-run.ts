/**
 * Runs synchronous code that may never end, such as a validator made from somebody else's schema, for a bounded time.
 * Node's `vm` watches from another thread and stops any JavaScript below the call, regular expressions included.
 * It isn't a sandbox: the code must not be hostile itself, only slow.
 */
import vm from 'node:vm';

/** Thrown when the code used up its time. */
export class TimeUsedUpError extends Error {
  override readonly name = 'TimeUsedUpError';
}

export type BoundedRun = <T>(budgetMs: number, body: () => T) => T;

const attemptsMax = 3;

/**
 * Makes a runner. The budget is in wall-clock milliseconds; where the machine was busy with something else and the
 * thread itself used less than half of it, the code is run again, so a stall of the machine is not read as a slow schema.
 */
export function createBoundedRun(): BoundedRun {
  const globals: { body: (() => unknown) | undefined } = { body: undefined };
  const context = vm.createContext(globals);
  const script = new vm.Script('body()');

  return <T>(budgetMs: number, body: () => T): T => {
    for (let attempt = 1; ; attempt += 1) {
      const before = threadCpuMs();
      globals.body = body;
      try {
        return script.runInContext(context, { timeout: budgetMs }) as T;
      } catch (error) {
        if (!isTimeout(error)) throw error;
        const isStall = threadCpuMs() - before < budgetMs / 2;
        if (!isStall || attempt === attemptsMax) throw new TimeUsedUpError(`not done within ${budgetMs} ms`);
      } finally {
        globals.body = undefined;
      }
    }
  };
}

function isTimeout(error: unknown): boolean {
  // The error is made in the script's own realm, so it is no instance of this realm's Error.
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
