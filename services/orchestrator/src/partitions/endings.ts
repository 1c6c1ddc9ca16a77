/** Runs that have just stopped or begun to wait in this replica: who waits for them is told at once. */
import type { RunView } from '@pawl/contracts';

const rememberedMax = 1_000;

export type Endings = {
  /** Tells those who wait; a run that has ended is remembered for a while. */
  announce(view: RunView): void;
  /** A run that ended a short while ago, or undefined. */
  recall(app: string, runId: string): RunView | undefined;
  /** Resolves when something is announced of the run; `forget` when nobody waits any more. */
  expect(runId: string): { ended: Promise<RunView>; forget(): void };
};

export function createEndings(): Endings {
  const remembered = new Map<string, RunView>();
  const waiting = new Map<string, Set<(view: RunView) => void>>();
  return {
    announce(view) {
      if (view.status === 'ended') {
        const oldest = remembered.size >= rememberedMax ? remembered.keys().next().value : undefined;
        if (oldest !== undefined) remembered.delete(oldest);
        remembered.set(view.id, view);
      }
      for (const resolve of waiting.get(view.id) ?? []) resolve(view);
    },
    recall(app, runId) {
      const view = remembered.get(runId);
      return view?.app === app ? view : undefined;
    },
    expect(runId) {
      const { promise, resolve } = Promise.withResolvers<RunView>();
      const resolvers = waiting.get(runId) ?? new Set();
      waiting.set(runId, resolvers.add(resolve));
      const forget = () => {
        resolvers.delete(resolve);
        if (resolvers.size === 0) waiting.delete(runId);
      };
      return { ended: promise, forget };
    },
  };
}
