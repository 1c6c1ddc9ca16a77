/** What waits: work of the app by lane and pool, and facts that are not stored yet. */
import { getJson } from './request.ts';

export type Queue = {
  work: 'think' | 'act';
  /** The lane of thinking, the pool of tools. */
  queue: string;
  waiting: number;
  underWay: number;
  oldestWaitingMs: number;
  /** Requests of workers that wait for work. */
  asking: number;
};

export type Queues = { queues: Queue[]; log: { factsBehind: number } };

export function fetchQueues(signal?: AbortSignal): Promise<Queues> {
  return getJson('/v1/traces/queues', signal);
}
