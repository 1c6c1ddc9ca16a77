/** `GET /v1/traces/queues`: how much work of the app waits in each lane and pool and for how long, and how far behind the store is. */
import { z } from 'zod';
import { readQueueLengths, type Bus } from '@pawl/bus';
import { UnavailableError } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';

const queueSchema = z.object({
  work: z.enum(['think', 'act']),
  queue: z.string().describe('the lane of think work, the pool of act work'),
  waiting: z.number().describe('pieces that nobody has taken yet'),
  underWay: z.number().describe('pieces that a worker has taken'),
  oldestWaitingMs: z.number().describe('how long the oldest piece has waited, 0 when none does'),
  asking: z
    .number()
    .describe('requests of workers that wait for work: 0 while work waits means that all are busy, or none is there'),
});
const answerSchema = z.object({
  queues: z.array(queueSchema),
  log: z.object({ factsBehind: z.number().describe('facts of all apps that are not stored yet') }),
});

export type QueueRoutes = { bus: Bus; authorizer: Authorizer; factsBehind(): Promise<number> };

export function serveQueues(http: Http, { bus, authorizer, factsBehind }: QueueRoutes): void {
  const schema = { summary: 'Work of the app that waits', response: { 200: answerSchema } };
  http.get('/v1/traces/queues', { onRequest: guardApp(authorizer, 'traces'), schema }, async (request) => {
    const { app } = authorizer.authorizeApp(request, 'traces');
    try {
      const [think, act, behind] = await Promise.all([lengthsOf('think'), lengthsOf('act'), factsBehind()]);
      return { queues: [...think, ...act], log: { factsBehind: behind } };
    } catch (error) {
      throw new UnavailableError('NATS does not tell how long the queues are', error);
    }

    async function lengthsOf(work: 'think' | 'act') {
      const lengths = await readQueueLengths(bus, work, { nowMs: Date.now(), app });
      return lengths
        .map((length) => ({ work, ...length }))
        .toSorted((left, right) => (left.queue < right.queue ? -1 : 1));
    }
  });
}
