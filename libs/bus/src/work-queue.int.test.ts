import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { RejectedError, UnavailableError, type ActWork } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { publishWork } from './publish.ts';
import { actWork, createApps, newRunId } from './testing/samples.ts';
import { consumeWork, type WorkContext, type WorkQueue, type WorkQueueOptions } from './work-queue.ts';

let nats: BreakableNats;
let bus: Bus;
let other: Bus;
const queues: WorkQueue[] = [];

beforeAll(async () => {
  nats = await startBreakableNats();
  bus = await connectBus({ url: nats.url, name: 'test' });
  other = await connectBus({ url: nats.url, name: 'other' });
});
beforeEach(async () => {
  await eventually(async () => bus.isConnected() && (await bus.jsm.streams.purge('ACT')).success, { withinMs: 20_000 });
});
afterEach(async () => {
  await Promise.all(queues.splice(0).map((queue) => queue.stop()));
});
afterAll(async () => {
  await Promise.all([bus.close(), other.close()]);
  await nats.stop();
});

type Options = Partial<WorkQueueOptions<'act'>> & { on?: Bus };

async function consume(options: Options): Promise<WorkQueue> {
  const { on = bus, ...rest } = options;
  const defaults = { kind: 'act', queues: ['default'], apps: createApps('demo'), concurrency: 4 } as const;
  const queue = await consumeWork(on, { ...defaults, queues: ['default'], handle: async () => {}, ...rest });
  queues.push(queue);
  return queue;
}

const publish = (work: ActWork) => publishWork(bus, work, newTraceContext());
const left = async () => (await bus.jsm.streams.info('ACT')).state.messages;

test('work is handled with its trace and then gone', async () => {
  const work = actWork({ runId: newRunId(), i: 0 });
  const trace = newTraceContext();
  const seen: { work: ActWork; context: WorkContext }[] = [];
  await consume({ handle: async (received, context) => void seen.push({ work: received, context }) });
  await publishWork(bus, work, trace);
  await eventually(() => seen.length === 1);
  expect(seen).toEqual([{ work, context: { trace, deliveries: 1 } }]);
  await eventually(async () => (await left()) === 0);
});

test('one piece of work at idle takes some milliseconds', async () => {
  const arrived: (() => void)[] = [];
  await consume({ handle: async () => arrived.shift()?.() });
  const tookMs: number[] = [];
  for (let i = 0; i < 60; i += 1) {
    const startedAtMs = performance.now();
    const here = new Promise<void>((resolve) => arrived.push(resolve));
    await publish(actWork({ runId: newRunId(), i }));
    await here;
    tookMs.push(performance.now() - startedAtMs);
  }
  const median = tookMs.toSorted((a, b) => a - b)[30]!;
  console.info(`from publishing to handling: median ${median.toFixed(2)} ms`);
  expect(median).toBeLessThan(50);
});

test('concurrency is the most that is under way, and is reached', async () => {
  let underWay = 0;
  let most = 0;
  let done = 0;
  await consume({
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
  await Promise.all(Array.from({ length: 60 }, (_, i) => publish(actWork({ runId, i }))));
  await eventually(() => done === 60);
  expect(most).toBe(3);
});

describe('I5: slow and dead workers', () => {
  test('a handler that takes 20 s gets its work once', async () => {
    let begun = 0;
    let done = 0;
    const handle = async () => {
      begun += 1;
      await new Promise((resolve) => setTimeout(resolve, 20_000));
      done += 1;
    };
    await consume({ handle });
    await consume({ handle, on: other });
    await publish(actWork({ runId: newRunId(), i: 0 }));
    await eventually(() => done > 0, { withinMs: 25_000 });
    await eventually(async () => (await left()) === 0);
    expect({ begun, done }).toEqual({ begun: 1, done: 1 });
  }, 40_000);

  test('a worker killed in the middle: another has its work within 10 s', async () => {
    const script = fileURLToPath(new URL('fixtures/worker.ts', import.meta.url));
    const worker = spawn(process.execPath, [script, nats.url], { stdio: ['ignore', 'pipe', 'inherit'] });
    const printed: string[] = [];
    worker.stdout.on('data', (chunk) => printed.push(String(chunk)));
    const seen: number[] = [];
    await publish(actWork({ runId: newRunId(), i: 7 }));
    await eventually(() => printed.join('').includes('begun call_7'), { withinMs: 15_000 });
    // Time is what is tested: busy for a while, so that the dead worker's claim was being extended until its death.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await consume({ handle: async (work) => void seen.push(work.i) });
    worker.kill('SIGKILL');
    const killedAtMs = performance.now();
    await eventually(() => seen.length === 1, { withinMs: 12_000 });
    expect(performance.now() - killedAtMs).toBeLessThan(10_000);
    expect(seen).toEqual([7]);
  }, 40_000);

  test('work that comes again to the worker that is busy with it is not begun again', async () => {
    let begun = 0;
    const finish = Promise.withResolvers<void>();
    await consume({
      async handle() {
        begun += 1;
        await finish.promise;
      },
    });
    await publish(actWork({ runId: newRunId(), i: 0 }));
    await eventually(() => begun === 1);
    // Nobody extends the deadline while the server hangs: afterwards it hands the work out again.
    nats.freeze();
    // Time is what is tested: silence that is longer than the ack deadline.
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    nats.resume();
    const { num_redelivered: redelivered } = await eventually(
      async () => {
        const info = await bus.jsm.consumers.info('ACT', 'act-default-demo');
        return info.num_redelivered > 0 && info;
      },
      { withinMs: 10_000, what: 'a redelivery' },
    );
    expect(redelivered).toBe(1);
    finish.resolve();
    await eventually(async () => (await left()) === 0);
    expect(begun).toBe(1);
  }, 40_000);
});

test('I6: an app with one piece of work is not kept waiting by one with 500', async () => {
  const served: string[] = [];
  const gate = Promise.withResolvers<void>();
  await consume({
    apps: createApps('flood', 'quiet'),
    concurrency: 2,
    async handle(work) {
      served.push(work.app);
      if (served.length > 20) await gate.promise;
      await new Promise((resolve) => setTimeout(resolve, 2));
    },
  });
  const runId = newRunId();
  await Promise.all(Array.from({ length: 500 }, (_, i) => publish(actWork({ runId, i, app: 'flood' }))));
  await eventually(() => served.length >= 22);
  await publish(actWork({ runId, i: 0, app: 'quiet' }));
  await eventually(async () => (await bus.jsm.consumers.info('ACT', 'act-default-quiet')).num_ack_pending === 1);
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
    await consume({
      async handle(work, context) {
        deliveries[work.i]!.push(context.deliveries);
        if (work.i === 0) throw new RejectedError('invalid_arguments', 'no');
        if (context.deliveries === 1) throw work.i === 1 ? new UnavailableError('down') : new TypeError('a bug');
      },
      onError: (error) => void errors.push(error),
    });
    const runId = newRunId();
    for (const i of [0, 1, 2]) await publish(actWork({ runId, i }));
    await eventually(async () => (await left()) === 0);
    expect(deliveries).toEqual({ 0: [1], 1: [1, 2], 2: [1, 2] });
    expect(errors).toHaveLength(3);
  });

  test('what is no work is dropped and reported', async () => {
    const errors: unknown[] = [];
    let handled = 0;
    await consume({ handle: async () => void (handled += 1), onError: (error) => void errors.push(error) });
    await bus.js.publish('pawl.act.default.demo.x.0.0', 'junk');
    await bus.js.publish('pawl.act.default.demo.x.0.1', '{"kind":"act"}');
    await eventually(async () => (await left()) === 0);
    expect(errors).toEqual([expect.any(RejectedError), expect.any(RejectedError)]);
    expect(handled).toBe(0);
  });
});

describe('stopping', () => {
  test('waits for what is under way; what was not begun is at another worker at once', async () => {
    const finish = Promise.withResolvers<void>();
    const first: number[] = [];
    const second: number[] = [];
    const queue = await consume({
      concurrency: 1,
      async handle(work) {
        first.push(work.i);
        await finish.promise;
      },
    });
    const runId = newRunId();
    for (const i of [0, 1, 2, 3]) await publish(actWork({ runId, i }));
    await eventually(() => first.length === 1);
    await eventually(async () => (await bus.jsm.consumers.info('ACT', 'act-default-demo')).num_ack_pending > 1);
    await consume({ on: other, concurrency: 10, handle: async (work) => void second.push(work.i) });
    let isStopped = false;
    const stopping = queue.stop().then(() => (isStopped = true));
    await eventually(() => second.length === 3, { withinMs: 2_000 });
    expect(isStopped).toBe(false);
    finish.resolve();
    await stopping;
    await eventually(async () => (await left()) === 0);
    expect([first, second.toSorted((a, b) => a - b)]).toEqual([[0], [1, 2, 3]]);
  });

  test('is quick at idle and during an outage', async () => {
    const idle = await consume({});
    let startedAtMs = performance.now();
    await idle.stop();
    expect(performance.now() - startedAtMs).toBeLessThan(200);
    const cut = await consume({});
    await nats.kill();
    startedAtMs = performance.now();
    await cut.stop();
    expect(performance.now() - startedAtMs).toBeLessThan(200);
    await nats.restart();
  }, 20_000);
});

test('a busy worker does not sit on work that an idle one could do', async () => {
  const finish = Promise.withResolvers<void>();
  const busy: number[] = [];
  const idle: number[] = [];
  const runId = newRunId();
  await consume({
    concurrency: 1,
    async handle(work) {
      busy.push(work.i);
      await finish.promise;
    },
  });
  for (const i of [0, 1, 2, 3, 4, 5]) await publish(actWork({ runId, i }));
  await eventually(async () => (await bus.jsm.consumers.info('ACT', 'act-default-demo')).num_ack_pending > 1);
  await consume({ on: other, concurrency: 1, handle: async (work) => void idle.push(work.i) });
  await eventually(() => idle.length === 5, { withinMs: 12_000 });
  expect(busy).toEqual([0]);
  finish.resolve();
}, 20_000);

describe('healing', () => {
  test('an app that appears later is served', async () => {
    const apps = createApps();
    const served: string[] = [];
    await consume({ apps, handle: async (work) => void served.push(work.app) });
    await publish(actWork({ runId: newRunId(), i: 0, app: 'newcomer' }));
    apps.add('newcomer');
    await eventually(() => served.length === 1);
  });

  test('a consumer that was deleted is made again', async () => {
    const served: number[] = [];
    await consume({ handle: async (work) => void served.push(work.i) });
    const runId = newRunId();
    await publish(actWork({ runId, i: 0 }));
    await eventually(() => served.length === 1);
    await bus.jsm.consumers.delete('ACT', 'act-default-demo');
    await publish(actWork({ runId, i: 1 }));
    await eventually(() => served.length === 2, { withinMs: 12_000 });
  }, 20_000);

  test.for([false, true])('after a restart of the server (emptied: %s) work flows again', async (empty) => {
    const served: number[] = [];
    await consume({ handle: async (work) => void served.push(work.i) });
    const runId = newRunId();
    await publish(actWork({ runId, i: 0 }));
    await eventually(() => served.length === 1);
    await nats.kill();
    await nats.restart({ empty });
    await publish(actWork({ runId, i: 1 }));
    await eventually(() => served.includes(1), { withinMs: 12_000 });
    expect(served.filter((i) => i === 1)).toHaveLength(1);
  });
});
