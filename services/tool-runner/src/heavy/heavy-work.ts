/**
 * Keeps the event loop free: reading, checking and cutting a result of megabytes takes a second, and meanwhile other calls have to go on.
 * What is short is done at once, what is long in another thread, which ends when nobody has asked for it for a while.
 */
import { Worker } from 'node:worker_threads';
import { heavyFunctions, type HeavyArguments, type HeavyName, type HeavyResult } from './functions.ts';
import type { HeavyReply, HeavyRequest } from './heavy-thread.ts';

export type HeavyWork = {
  /** `size` tells short from long. Throws what the function throws. */
  run<N extends HeavyName>(name: N, size: number, ...args: HeavyArguments<N>): Promise<HeavyResult<N>>;
  close(): Promise<void>;
};

const shortMax = 128 * 1024;
const idleMs = 30_000;
/** What results up to the cap need, many times over; beyond it the thread ends, and the call fails alone. */
const heapMegabytes = 1_024;

type Waiting = { resolve(value: unknown): void; reject(error: unknown): void };
type Thread = { worker: Worker; waiting: Map<number, Waiting>; idle: NodeJS.Timeout | undefined };

export function createHeavyWork(): HeavyWork {
  let thread: Thread | undefined;
  let lastId = 0;
  const end = async () => {
    const ended = thread;
    thread = undefined;
    await ended?.worker.terminate();
  };
  const runElsewhere = (name: HeavyName, args: unknown[]): Promise<unknown> => {
    const used = (thread ??= startThread(() => void (thread = undefined)));
    clearTimeout(used.idle);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const id = (lastId += 1);
    used.waiting.set(id, { resolve, reject });
    // oxlint-disable-next-line require-post-message-target-origin -- threads have no origins
    used.worker.postMessage({ id, name, args } satisfies HeavyRequest);
    return promise.finally(() => {
      if (used.waiting.size === 0) used.idle = setTimeout(() => void end(), idleMs).unref();
    });
  };
  return {
    async run<N extends HeavyName>(name: N, size: number, ...args: HeavyArguments<N>): Promise<HeavyResult<N>> {
      if (size > shortMax) return (await runElsewhere(name, args)) as HeavyResult<N>;
      const here = heavyFunctions[name] as unknown as (...given: HeavyArguments<N>) => HeavyResult<N>;
      return here(...args);
    },
    close: end,
  };
}

function startThread(onEnd: () => void): Thread {
  const worker = new Worker(new URL('heavy-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
  });
  worker.unref();
  const waiting = new Map<number, Waiting>();
  worker.on('message', (reply: HeavyReply) => {
    const waits = waiting.get(reply.id);
    waiting.delete(reply.id);
    if ('error' in reply) waits?.reject(reply.error);
    else waits?.resolve(reply.value);
  });
  const fail = (error: unknown) => {
    onEnd();
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('the thread for long results has ended')));
  return { worker, waiting, idle: undefined };
}
