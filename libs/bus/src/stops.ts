/** Hearing at once that a run was cancelled or has ended, so that whoever works for it can let go. A hint, not the truth. */
import { parseFactSubject } from '@pawl/contracts';
import type { Bus } from './connect.ts';

/** Calls back with the run whose `cancel` or `ended` fact was just published, until the returned function is called. */
export function subscribeStops(bus: Bus, listener: (stopped: { app: string; runId: string }) => void): () => void {
  const subscriptions = ['cancel', 'ended'].map((slot) =>
    bus.connection.subscribe(`pawl.run.*.*.*.${slot}`, {
      callback: (error, message) => {
        const address = error ? undefined : parseFactSubject(message.subject);
        if (address) listener({ app: address.app, runId: address.runId });
      },
    }),
  );
  return () => subscriptions.forEach((subscription) => subscription.unsubscribe());
}
