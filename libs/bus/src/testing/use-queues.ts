/** What tests of work queues stand on: a server that can be broken, two connections, queues that end with their test. */
import type { ActWork } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { connectBus, type Bus } from '../connect.ts';
import { pause } from '../failures.ts';
import { publishWork } from '../publish.ts';
import { consumeWork, type WorkQueue, type WorkQueueOptions } from '../work-queue.ts';
import { createApps } from './samples.ts';

export type TestQueues = {
  nats: BreakableNats;
  bus: Bus;
  /** Another connection, as another replica has it. */
  other: Bus;
  consume(options: Partial<WorkQueueOptions<'act'>> & { on?: Bus }): Promise<WorkQueue>;
  publish(work: ActWork): Promise<'written' | 'pending'>;
  /** Pieces of work that are not acknowledged. */
  left(): Promise<number>;
};

/** Call it at the top of a test file; what it gives is there inside tests and hooks only. */
export function useQueues(): TestQueues {
  const running: WorkQueue[] = [];
  const queues = {
    async consume({ on = queues.bus, ...options }) {
      const defaults = { kind: 'act', queues: ['default'], apps: createApps('demo'), concurrency: 4 } as const;
      const queue = await consumeWork(on, { ...defaults, queues: ['default'], handle: async () => {}, ...options });
      running.push(queue);
      return queue;
    },
    publish: (work) => publishWork(queues.bus, work, newTraceContext()),
    left: async () => (await queues.bus.jsm.streams.info('ACT')).state.messages,
  } as TestQueues;

  beforeAll(async () => {
    queues.nats = await startBreakableNats();
    queues.bus = await connectBus({ url: queues.nats.url, name: 'test' });
    queues.other = await connectBus({ url: queues.nats.url, name: 'other' });
  });
  beforeEach(async () => {
    const purge = async () => queues.bus.isConnected() && (await queues.bus.jsm.streams.purge('ACT')).success;
    await eventually(purge, { withinMs: 20_000 });
  });
  afterEach(async () => {
    // A test that failed may have left a handler that never ends.
    await Promise.race([Promise.all(running.splice(0).map((queue) => queue.stop())), pause(5_000)]);
  });
  afterAll(async () => {
    await Promise.all([queues.bus.close(), queues.other.close()]);
    await queues.nats.stop();
  });
  return queues;
}
