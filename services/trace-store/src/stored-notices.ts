/**
 * Telling all replicas, on core NATS, that records were stored, so that a live view anywhere hears of them.
 * A hint, never the truth: what it says is read from Postgres.
 */
import type { Bus } from '@pawl/bus';
import { subjects } from '@pawl/contracts';
import type { TraceRecord } from './record/record.ts';

export type StoredNotices = {
  publish(records: readonly Pick<TraceRecord, 'app' | 'runId'>[]): void;
  /** Calls back with the id of each run of the app that has new records, until the returned function is called. */
  subscribe(key: { app: string; runId?: string }, listener: (runId: string) => void): () => void;
};

export function createStoredNotices(bus: Bus): StoredNotices {
  return {
    publish(records) {
      if (!bus.isConnected()) return;
      for (const subject of new Set(records.map(({ app, runId }) => subjects.recordsStored(app, runId)))) {
        bus.connection.publish(subject);
      }
    },
    subscribe({ app, runId = '*' }, listener) {
      const subscription = bus.connection.subscribe(subjects.recordsStored(app, runId), {
        callback: (error, message) => {
          const stored = error ? undefined : message.subject.split('.').at(-1);
          if (stored !== undefined) listener(stored);
        },
      });
      return () => subscription.unsubscribe();
    },
  };
}
