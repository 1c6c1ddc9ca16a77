/** How a queue does, told from its figures. Pure. */
import type { Queue } from '../api/queues.ts';

/** Above this the oldest piece has waited for longer than a person at a screen does. */
const slowAboveMs = 10_000;

/** `unattended`: work waits, nobody has any under way and nobody asks for it. */
export type QueueState = 'idle' | 'flowing' | 'slow' | 'unattended';

export function queueState({ waiting, underWay, asking, oldestWaitingMs }: Omit<Queue, 'work' | 'queue'>): QueueState {
  if (waiting === 0) return underWay === 0 ? 'idle' : 'flowing';
  if (underWay === 0 && asking === 0) return 'unattended';
  return oldestWaitingMs > slowAboveMs ? 'slow' : 'flowing';
}
