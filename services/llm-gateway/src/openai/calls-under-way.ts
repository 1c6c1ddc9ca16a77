/**
 * Calls of HTTP clients that are under way. A client that leaves ends its call at once, and the call is settled all the same:
 * stopping waits for that.
 */
import type { ServerResponse } from 'node:http';
import type { Part } from '@pawl/service';
import type { Stop } from '../providers/call-clock.ts';

export type CallsUnderWay = Part & {
  /** Runs a call with a signal that says, as a `Stop`, when nobody waits for it any more. */
  run<T>(response: ServerResponse, body: (signal: AbortSignal) => Promise<T>): Promise<T>;
};

export function createCallsUnderWay(): CallsUnderWay {
  const underWay = new Set<Promise<unknown>>();
  return {
    name: 'calls-under-way',
    start: async () => {},
    async stop() {
      await Promise.allSettled(underWay);
    },
    async run(response, body) {
      const abort = new AbortController();
      const leave = () => {
        if (!response.writableFinished) abort.abort({ kind: 'client-left' } satisfies Stop);
      };
      response.once('close', leave);
      if (response.destroyed) leave();
      const call = body(abort.signal);
      underWay.add(call);
      try {
        return await call;
      } finally {
        underWay.delete(call);
        response.off('close', leave);
      }
    },
  };
}
