import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureWorkQueue, publishWork } from '@pawl/bus';
import type { ThinkWork } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStore, type StartedStore } from '../testing/start-store.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';

const servers = useTestServers();
let store: StartedStore;

beforeAll(async () => {
  store = await startStore(servers);
  await store.putKey('demo');
  await store.putKey('demo.explain', ['traces:explain']);
  await store.putKey('other');
});
afterAll(() => store?.stop());

test('each lane tells what waits of the app, and the store how far behind it is', async () => {
  const startedAt = new Date().toISOString();
  const runId = runIdAt(startedAt, 'queued');
  await ensureWorkQueue(store.bus, 'think', { queue: 'interactive', app: 'demo' });
  await ensureWorkQueue(store.bus, 'think', { queue: 'interactive', app: 'other' });
  const work: ThinkWork = {
    v: 1,
    kind: 'think',
    runId,
    app: 'demo',
    m: 0,
    agent: 'analyst',
    purpose: 'think',
    lane: 'interactive',
    route: 'smart',
    messages: [{ role: 'user', content: 'why?' }],
    tools: [],
    maxOutputTokens: 100,
    runSpendLimitNanoUsd: '1',
    deadlineAt: startedAt,
  };
  await publishWork(store.bus, work, newTraceContext());
  await store.publish(salesRunFacts({ runId, startedAt }));
  const seen = await eventually(async () => {
    const answer = (await store.ask('GET', '/v1/traces/queues')).json() as unknown as {
      queues: { waiting: number; oldestWaitingMs: number }[];
      log: { factsBehind: number };
    };
    return answer.log.factsBehind === 0 && answer.queues[0]?.waiting === 1 && answer;
  });
  expect(seen.queues).toEqual([
    { work: 'think', queue: 'interactive', waiting: 1, underWay: 0, asking: 0, oldestWaitingMs: expect.any(Number) },
  ]);
  expect(seen.queues[0]?.oldestWaitingMs).toBeGreaterThan(0);
  const ofOther = await store.ask('GET', '/v1/traces/queues', { key: 'key-of-other' });
  expect(ofOther.json()).toMatchObject({ queues: [{ waiting: 0 }] });
});

test('whoever only explains runs has no need of it', async () => {
  expect((await store.ask('GET', '/v1/traces/queues', { key: 'key-of-demo.explain' })).status).toBe(403);
});
