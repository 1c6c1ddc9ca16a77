/** The token stream: pieces of thoughts on core NATS. Never stored; whoever isn't listening misses them. */
import { deltaSchema, subjects, type Delta } from '@pawl/contracts';
import type { Bus } from './connect.ts';

/** Sends a piece of thought `delta.m`. Fire and forget. */
export function publishDelta(bus: Bus, run: { app: string; runId: string }, delta: Delta): void {
  if (!bus.isConnected()) return;
  bus.connection.publish(subjects.delta(run.app, run.runId, delta.m), JSON.stringify(delta));
}

/** Hears the pieces of a run's thoughts until the returned function is called. */
export function subscribeDeltas(
  bus: Bus,
  run: { app: string; runId: string },
  listener: (delta: Delta) => void,
): () => void {
  const subscription = bus.connection.subscribe(subjects.deltasOfRun(run.app, run.runId), {
    callback: (error, message) => {
      if (error) return;
      const parsed = deltaSchema.safeParse(message.json());
      if (parsed.success) listener(parsed.data);
    },
  });
  return () => subscription.unsubscribe();
}
