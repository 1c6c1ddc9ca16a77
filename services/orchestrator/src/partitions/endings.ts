/** Runs that have just stopped or begun to wait in this replica: who waits for them is told at once. */
import type { RunView } from '@pawl/contracts';

const rememberedMax = 1_000;

export type Endings = {
  /** Tells those who wait; a run that has ended is remembered for a while. */
  announce(view: RunView): void;
  /** A run that ended a short while ago, or undefined. */
  recall(app: string, runId: string): RunView | undefined;
  /** Calls `onNews` for everything that is announced of the run, until the returned function is called. */
  listen(runId: string, onNews: () => void): () => void;
};

export function createEndings(): Endings {
  const remembered = new Map<string, RunView>();
  const waiting = new Map<string, Set<() => void>>();
  return {
    announce(view) {
      if (view.status === 'ended') {
        const oldest = remembered.size >= rememberedMax ? remembered.keys().next().value : undefined;
        if (oldest !== undefined) remembered.delete(oldest);
        remembered.set(view.id, view);
      }
      for (const onNews of waiting.get(view.id) ?? []) onNews();
    },
    recall(app, runId) {
      const view = remembered.get(runId);
      return view?.app === app ? view : undefined;
    },
    listen(runId, onNews) {
      const listeners = waiting.get(runId) ?? new Set();
      waiting.set(runId, listeners.add(onNews));
      return () => {
        listeners.delete(onNews);
        if (listeners.size === 0) waiting.delete(runId);
      };
    },
  };
}
