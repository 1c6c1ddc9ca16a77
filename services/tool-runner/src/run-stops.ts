/** Breaks off the calls of a run as soon as it is cancelled or has ended. A hint on core NATS: what is missed ends by its deadline. */
import { subscribeStops, type Bus } from '@pawl/bus';
import type { Part } from '@pawl/service';
import { BrokenOffError } from './call/outcome.ts';

export type RunStops = {
  /** Aborts `controller` when the run stops, until the returned function is called. */
  watch(run: { app: string; runId: string }, controller: AbortController): () => void;
  stop(run: { app: string; runId: string }): void;
};

export function createRunStops(): RunStops {
  const watched = new Map<string, Set<AbortController>>();
  const keyOf = ({ app, runId }: { app: string; runId: string }) => `${app}/${runId}`;
  return {
    watch(run, controller) {
      const controllers = watched.get(keyOf(run)) ?? new Set();
      watched.set(keyOf(run), controllers.add(controller));
      return () => {
        controllers.delete(controller);
        if (controllers.size === 0 && watched.get(keyOf(run)) === controllers) watched.delete(keyOf(run));
      };
    },
    stop(run) {
      for (const controller of watched.get(keyOf(run)) ?? []) controller.abort(new BrokenOffError('cancelled'));
    },
  };
}

/** The subscription as a part of the service. */
export function createStopsPart(bus: Bus, stops: RunStops): Part {
  let unsubscribe = () => {};
  return {
    name: 'run-stops',
    start: async () => void (unsubscribe = subscribeStops(bus, (run) => stops.stop(run))),
    stop: async () => unsubscribe(),
  };
}
