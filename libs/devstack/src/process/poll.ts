/**
 * Waiting for a condition of the outside world that sends no signal. Always with a deadline.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface PollOptions {
  /** Time after which `undefined` is returned. */
  deadlineMs: number;
  /** Pause between two looks. Default 25 ms. */
  intervalMs?: number;
}

/** The first defined value that `look` returns, or undefined when the deadline has passed. */
export async function poll<T>(look: () => Promise<T | undefined>, options: PollOptions): Promise<T | undefined> {
  const end = performance.now() + options.deadlineMs;
  for (;;) {
    const value = await look();
    if (value !== undefined || performance.now() >= end) return value;
    await sleep(options.intervalMs ?? 25);
  }
}
