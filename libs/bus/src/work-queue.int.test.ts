import { RejectedError, UnavailableError, type ActWork } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually } from '@pawl/testkit';
import { describe, expect, test } from 'vitest';
import { publishWork } from './publish.ts';
import { actWork, createApps, newRunId } from './testing/samples.ts';
import { useQueues } from './testing/use-queues.ts';
import type { WorkContext } from './work-queue.ts';

const on = useQueues();
/** Whoever waited for a pull to end would need longer. */
const quickMs = 8_000;

test('work is handled with its trace and then gone', async () => {
  const work = actWork({ runId: newRunId(), i: 0 });
  const trace = newTraceContext();
  const seen: { work: ActWork; context: WorkContext }[] = [];
  await on.consume({ handle: async (received, context) => void seen.push({ work: received, context }) });
  await publishWork(on.bus, work, trace);
  await eventually(() => seen.length === 1);
  expect(seen).toEqual([{ work, context: { trace, deliveries: 1 } }]);
  await eventually(async () => (await on.left()) === 0);
});

test('one piece of work at idle is handled at once, not with a later pull', async () => {
  const arrived: (() => void)[] = [];
  await on.consume({ handle: async () => arrived.shift()?.() });
  const tookMs: number[] = [];
  for (let i = 0; i < 60; i += 1) {
    const startedAtMs = performance.now();
    const here = new Promise<void>((resolve) => arrived.push(resolve));
    await on.publish(actWork({ runId: newRunId(), i }));
    await here;
    tookMs.push(performance.now() - startedAtMs);
  }
  const median = tookMs.toSorted((a, b) => a - b)[30]!;
  console.info(`from publishing to handling: median ${median.toFixed(2)} ms`);
  expect(median).toBeLessThan(1_000);
});

test('the next pull begins before the one under way is used up', async () => {
  let handled = 0;
  await on.consume({ concurrency: 64, handle: async () => void (handled += 1) });
  const pulls = async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-demo')).num_waiting;
  await eventually(async () => (await pulls()) === 1);
  for (let i = 0; i < 12; i += 1) await on.publish(actWork({ runId: newRunId(), i }));
  await eventually(() => handled === 12);
  await eventually(async () => (await pulls()) === 2);
});

test('concurrency is the most that is under way, and is reached', async () => {
  let underWay = 0;
  let most = 0;
  let done = 0;
  await on.consume({
    concurrency: 3,
    async handle() {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay -= 1;
      done += 1;
    },
  });
  const runId = newRunId();
  await Promise.all(Array.from({ length: 60 }, (_, i) => on.publish(actWork({ runId, i }))));
  await eventually(() => done === 60);
  expect(most).toBe(3);
});

test('I6: an app with one piece of work is not kept waiting by one with 500', async () => {
  const served: string[] = [];
  const gate = Promise.withResolvers<void>();
  await on.consume({
    apps: createApps('flood', 'quiet'),
    concurrency: 2,
    async handle(work) {
      served.push(work.app);
      if (served.length > 20) await gate.promise;
      await new Promise((resolve) => setTimeout(resolve, 2));
    },
  });
  const runId = newRunId();
  await Promise.all(Array.from({ length: 500 }, (_, i) => on.publish(actWork({ runId, i, app: 'flood' }))));
  await eventually(() => served.length >= 22);
  await on.publish(actWork({ runId, i: 0, app: 'quiet' }));
  await eventually(async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-quiet')).num_ack_pending === 1);
  const before = served.length;
  gate.resolve();
  await eventually(() => served.includes('quiet'));
  expect(served.indexOf('quiet') - before).toBeLessThan(4);
  await eventually(() => served.length === 501, { withinMs: 20_000 });
}, 40_000);

describe('what a handler throws', () => {
  test('RejectedError drops the work, anything else brings it again', async () => {
    const errors: unknown[] = [];
    const deliveries: Record<number, number[]> = { 0: [], 1: [], 2: [] };
    await on.consume({
      async handle(work, context) {
        deliveries[work.i]!.push(context.deliveries);
        if (work.i === 0) throw new RejectedError('invalid_arguments', 'no');
        if (context.deliveries === 1) throw work.i === 1 ? new UnavailableError('down') : new TypeError('a bug');
      },
      onError: (error) => void errors.push(error),
    });
    const runId = newRunId();
    for (const i of [0, 1, 2]) await on.publish(actWork({ runId, i }));
    await eventually(async () => (await on.left()) === 0);
    expect(deliveries).toEqual({ 0: [1], 1: [1, 2], 2: [1, 2] });
    expect(errors).toHaveLength(3);
  });

  test('what is no work is dropped and reported', async () => {
    const errors: unknown[] = [];
    let handled = 0;
    await on.consume({ handle: async () => void (handled += 1), onError: (error) => void errors.push(error) });
    await on.bus.js.publish('pawl.act.default.demo.x.0.0', 'junk');
    await on.bus.js.publish('pawl.act.default.demo.x.0.1', '{"kind":"act"}');
    await eventually(async () => (await on.left()) === 0);
    expect(errors).toEqual([expect.any(RejectedError), expect.any(RejectedError)]);
    expect(handled).toBe(0);
  });
});

describe('stopping', () => {
  test('waits for what is under way; what was not begun is at another worker at once', async () => {
    const finish = Promise.withResolvers<void>();
    const first: number[] = [];
    const second: number[] = [];
    const queue = await on.consume({
      concurrency: 1,
      async handle(work) {
        first.push(work.i);
        await finish.promise;
      },
    });
    const runId = newRunId();
    for (const i of [0, 1, 2, 3]) await on.publish(actWork({ runId, i }));
    await eventually(() => first.length === 1);
    await eventually(async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-demo')).num_ack_pending > 1);
    await on.consume({ on: on.other, concurrency: 10, handle: async (work) => void second.push(work.i) });
    let isStopped = false;
    const stopping = queue.stop().then(() => (isStopped = true));
    await eventually(() => second.length === 3, { withinMs: 2_000 });
    expect(isStopped).toBe(false);
    finish.resolve();
    await stopping;
    await eventually(async () => (await on.left()) === 0);
    expect([first, second.toSorted((a, b) => a - b)]).toEqual([[0], [1, 2, 3]]);
  });

  test('loses nothing that was on its way to the one that stops', async () => {
    const handled: number[] = [];
    const runId = newRunId();
    const handle = async (work: ActWork) => void handled.push(work.i);
    for (let round = 0; round < 20; round += 1) {
      const leaving = await on.consume({ on: on.other, handle });
      await eventually(async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-demo')).num_waiting > 0);
      await Promise.all([leaving.stop(), on.publish(actWork({ runId, i: round }))]);
    }
    await on.consume({ handle });
    await eventually(() => new Set(handled).size === 20, { withinMs: 4_000 });
  });

  test('is quick at idle and during an outage', async () => {
    const idle = await on.consume({});
    let startedAtMs = performance.now();
    await idle.stop();
    expect(performance.now() - startedAtMs).toBeLessThan(quickMs);
    const cut = await on.consume({});
    await on.nats.kill();
    startedAtMs = performance.now();
    await cut.stop();
    const tookMs = performance.now() - startedAtMs;
    await on.nats.restart();
    expect(tookMs).toBeLessThan(quickMs);
  }, 20_000);
});

test('a busy worker does not sit on work that an idle one could do', async () => {
  const finish = Promise.withResolvers<void>();
  const busy: number[] = [];
  const idle: number[] = [];
  const runId = newRunId();
  await on.consume({
    concurrency: 1,
    async handle(work) {
      busy.push(work.i);
      await finish.promise;
    },
  });
  await on.publish(actWork({ runId, i: 0 }));
  await eventually(() => busy.length === 1, { withinMs: 12_000 });
  for (const i of [1, 2, 3, 4, 5]) await on.publish(actWork({ runId, i }));
  await eventually(async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-demo')).num_ack_pending > 1);
  await on.consume({ on: on.other, concurrency: 1, handle: async (work) => void idle.push(work.i) });
  await eventually(() => idle.length === 5, { withinMs: 12_000 });
  expect(busy).toEqual([0]);
  finish.resolve();
}, 40_000);
