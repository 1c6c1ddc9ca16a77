/** How much work waits, and for how long: per lane or pool, over all apps or of one, as JetStream counts it. */
import { streams, type Work } from '@pawl/contracts';
import type { Bus } from './connect.ts';

export type QueueLength = {
  /** The lane or the pool. */
  queue: string;
  /** Pieces that nobody has taken yet. */
  waiting: number;
  /** Pieces that somebody has taken. */
  underWay: number;
  /** Milliseconds that the oldest waiting piece has been there; 0 when none waits. */
  oldestWaitingMs: number;
  /** Requests of workers for work that have not been answered: 0 while work waits means that every worker is busy, or none is there. */
  asking: number;
};

/** Of so many apps' queues is the oldest piece looked up, so that a crowd of them costs no crowd of requests. */
const lookedUpMax = 64;

/** The lengths of all queues of a kind that any worker has ever served. Rejects when JetStream doesn't answer. */
export async function readQueueLengths(
  bus: Bus,
  kind: Work['kind'],
  { nowMs, app: onlyApp }: { nowMs: number; app?: string },
): Promise<QueueLength[]> {
  const stream = streams[kind];
  const lengths = new Map<string, QueueLength>();
  let lookedUp = 0;
  for await (const { config, delivered, num_pending, num_ack_pending, num_waiting } of bus.jsm.consumers.list(stream)) {
    const filter = config.filter_subject ?? '';
    const [, , queue, app] = filter.split('.');
    if (queue === undefined || (onlyApp !== undefined && app !== onlyApp)) continue;
    const known = lengths.get(queue) ?? { queue, waiting: 0, underWay: 0, oldestWaitingMs: 0, asking: 0 };
    const isLookedUp = num_pending > 0 && lookedUp < lookedUpMax;
    if (isLookedUp) lookedUp += 1;
    const next = { seq: delivered.stream_seq + 1, next_by_subj: filter };
    const oldest = isLookedUp ? await bus.jsm.direct.getMessage(stream, next) : null;
    lengths.set(queue, {
      queue,
      waiting: known.waiting + num_pending,
      underWay: known.underWay + num_ack_pending,
      asking: known.asking + num_waiting,
      oldestWaitingMs: Math.max(known.oldestWaitingMs, oldest ? nowMs - oldest.time.getTime() : 0),
    });
  }
  return [...lengths.values()];
}
