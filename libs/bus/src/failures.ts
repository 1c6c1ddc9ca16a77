/** Which failures of NATS pass by themselves, and how long to bear with them. */
import { errors } from '@nats-io/nats-core';
import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { UnavailableError } from '@pawl/contracts';

const transientErrors = [
  errors.TimeoutError,
  errors.RequestError,
  errors.NoRespondersError,
  errors.ConnectionError,
  errors.ClosedConnectionError,
  errors.DrainingConnectionError,
  JetStreamError,
  UnavailableError,
] as const;

/** Whether the same request may well succeed later. An error counts as what caused it: the client wraps some of its own. */
export function isTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status >= 500;
  if (transientErrors.some((type) => error instanceof type)) return true;
  return error instanceof Error && error.cause !== undefined && isTransient(error.cause);
}

/** Makes a passing failure an `UnavailableError`; any other is thrown as it is. `patienceMs` is for answers that never come. */
export async function orUnavailable<T>(work: Promise<T>, patienceMs = 15_000): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new UnavailableError('NATS does not answer')), patienceMs);
  });
  try {
    return await Promise.race([work, tooLate]);
  } catch (error) {
    if (error instanceof UnavailableError || !isTransient(error)) throw error;
    throw new UnavailableError('NATS does not answer', error);
  } finally {
    clearTimeout(timer);
  }
}

export type Patience = {
  patienceMs: number;
  isConnected(): boolean;
  /** Whether there is no hope left. */
  isClosed(): boolean;
};

/** Tries until `attempt` gives a value. Throws `UnavailableError` when only passing failures came for `patienceMs`. */
export async function withPatience<T>(patience: Patience, attempt: () => Promise<T>): Promise<T> {
  const giveUpAtMs = performance.now() + patience.patienceMs;
  let failure: unknown;
  const tryOnce = async (): Promise<{ value: T } | undefined> => {
    try {
      return { value: await attempt() };
    } catch (error) {
      if (!isTransient(error)) throw error;
      failure = error;
      return undefined;
    }
  };
  while (!patience.isClosed() && performance.now() < giveUpAtMs) {
    const success = patience.isConnected() ? await tryOnce() : undefined;
    if (success) return success.value;
    await pause(50);
  }
  throw new UnavailableError('NATS does not take messages', failure);
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
