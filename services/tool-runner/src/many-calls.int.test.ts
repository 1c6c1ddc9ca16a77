/** Many calls leave nothing behind: no heap, no listeners, no descriptors, no timers. 20,000 of them in the full tests. */
import { readdir } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { randomUUID } from 'node:crypto';
import { followFacts } from '@pawl/bus';
import { eventually, hasTimeForPeers, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRunnerBench, toolOf, type RunnerBench } from './testing/runner-bench.ts';

const servers = useTestServers();
const calls = hasTimeForPeers() ? 20_000 : 1_500;
const warmUps = 1_000;
const atOnce = 50;
let bench: RunnerBench;
let collect: () => void;

beforeAll(async () => {
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as () => void;
  bench = await openRunnerBench(servers);
});
afterAll(() => bench.close());

async function make(count: number): Promise<void> {
  let seen = 0;
  let wake = () => {};
  const { state } = await bench.bus.jsm.streams.info('RUNS');
  const following = followFacts(bench.bus, {
    filter: 'pawl.run.*.*.*.observed.>',
    startSequence: state.last_seq + 1,
    onFact: () => {
      seen += 1;
      wake();
    },
  });
  const works = await Promise.all([
    bench.workFor(toolOf('get', bench.http('/ok'))),
    bench.workFor(toolOf('put', { ...bench.http('/ok', 'POST'), effect: 'write' })),
    bench.workFor(toolOf('gone', bench.http('/gone'))),
    bench.workFor(toolOf('wrong', bench.http('/ok')), { args: '{"a":' }),
  ]);
  for (let asked = 0; asked < count;) {
    const batch = Math.min(atOnce, count - asked);
    const started = Array.from({ length: batch }, async (_unused, at) => {
      const work = works[(asked + at) % works.length];
      if (work) await bench.ask({ ...work, runId: `run_${randomUUID().replaceAll('-', '')}` });
    });
    await Promise.all(started);
    asked += batch;
    while (seen < asked) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
    bench.peer.reset();
  }
  await following.stop();
}

async function measure() {
  await eventually(() => bench.peer.held.length === 0);
  collect();
  collect();
  const descriptors = (await readdir('/proc/self/fd').catch(() => [])).length;
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  return { heapMb: process.memoryUsage().heapUsed / 1e6, descriptors, listeners, timers };
}

test(`${calls} calls leave nothing behind`, { timeout: 900_000 }, async () => {
  await make(warmUps);
  const before = await measure();
  await make(calls);
  const after = await measure();
  expect(after.heapMb - before.heapMb).toBeLessThan(5);
  expect(after.listeners).toBeLessThanOrEqual(before.listeners);
  // Connections that are kept for a while come and go; what leaks grows with the calls.
  expect(after.descriptors - before.descriptors).toBeLessThan(20);
  expect(after.timers - before.timers).toBeLessThan(20);
});
