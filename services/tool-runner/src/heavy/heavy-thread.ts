/** The other thread: runs what it is asked for, one after the other. */
import { parentPort } from 'node:worker_threads';
import { heavyFunctions, type HeavyName } from './functions.ts';

export type HeavyRequest = { id: number; name: HeavyName; args: unknown[] };
export type HeavyReply = { id: number; value: unknown } | { id: number; error: unknown };

parentPort?.on('message', ({ id, name, args }: HeavyRequest) => {
  // oxlint-disable-next-line require-post-message-target-origin -- threads have no origins
  parentPort?.postMessage(replyTo({ id, name, args }));
});

function replyTo({ id, name, args }: HeavyRequest): HeavyReply {
  try {
    return { id, value: (heavyFunctions[name] as (...given: unknown[]) => unknown)(...args) };
  } catch (error) {
    return { id, error };
  }
}
