import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from '@pawl/testkit';
import { describe, expect, test } from 'vitest';
import { actWork, createApps, newRunId } from './testing/samples.ts';
import { useQueues } from './testing/use-queues.ts';

const on = useQueues();

describe('I5: slow and dead workers', () => {
  test('a handler that takes 20 s gets its work once', async () => {
    let begun = 0;
    let done = 0;
    const handle = async () => {
      begun += 1;
      await new Promise((resolve) => setTimeout(resolve, 20_000));
      done += 1;
    };
    await on.consume({ handle });
    await on.consume({ handle, on: on.other });
    await on.publish(actWork({ runId: newRunId(), i: 0 }));
    await eventually(() => done > 0, { withinMs: 25_000 });
    await eventually(async () => (await on.left()) === 0);
    expect({ begun, done }).toEqual({ begun: 1, done: 1 });
  }, 40_000);

  test('a worker killed in the middle: another has its work within 10 s', async () => {
    const script = fileURLToPath(new URL('fixtures/worker.ts', import.meta.url));
    const worker = spawn(process.execPath, [script, on.nats.url], { stdio: ['ignore', 'pipe', 'inherit'] });
    const printed: string[] = [];
    worker.stdout.on('data', (chunk) => printed.push(String(chunk)));
    const seen: number[] = [];
    await on.publish(actWork({ runId: newRunId(), i: 7 }));
    await eventually(() => printed.join('').includes('begun call_7'), { withinMs: 15_000 });
    // Time is what is tested: busy for a while, so that the dead worker's claim was being extended until its death.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await on.consume({ handle: async (work) => void seen.push(work.i) });
    worker.kill('SIGKILL');
    const killedAtMs = performance.now();
    await eventually(() => seen.length === 1, { withinMs: 12_000 });
    expect(performance.now() - killedAtMs).toBeLessThan(10_000);
    expect(seen).toEqual([7]);
  }, 40_000);

  test('work that comes again to the worker that is busy with it is not begun again', async () => {
    let begun = 0;
    const finish = Promise.withResolvers<void>();
    const reports: string[] = [];
    on.other.connection.subscribe('$JS.ACK.ACT.act-default-demo.>', {
      callback: (_error, message) => void reports.push(message.subject),
    });
    await on.other.connection.flush();
    await on.consume({
      async handle() {
        begun += 1;
        await finish.promise;
      },
    });
    await on.publish(actWork({ runId: newRunId(), i: 0 }));
    const [report] = await eventually(() => reports.length > 0 && reports);
    // Makes the server hand the work out again, as it does when reports were late.
    on.other.connection.publish(report ?? '', '-NAK');
    const redelivered = async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-demo')).num_redelivered === 1;
    await eventually(redelivered);
    // The reports of the newer delivery have another subject.
    await eventually(() => new Set(reports).size === 2);
    finish.resolve();
    await eventually(async () => (await on.left()) === 0);
    expect(begun).toBe(1);
  });
});

describe('healing', () => {
  test('an app that appears later is served', async () => {
    const apps = createApps();
    const served: string[] = [];
    await on.consume({ apps, handle: async (work) => void served.push(work.app) });
    await on.publish(actWork({ runId: newRunId(), i: 0, app: 'newcomer' }));
    apps.add('newcomer');
    await eventually(() => served.length === 1);
  });

  test('a consumer that was deleted is made again', async () => {
    const served: number[] = [];
    await on.consume({ handle: async (work) => void served.push(work.i) });
    const runId = newRunId();
    await on.publish(actWork({ runId, i: 0 }));
    await eventually(() => served.length === 1);
    await on.bus.jsm.consumers.delete('ACT', 'act-default-demo');
    await on.publish(actWork({ runId, i: 1 }));
    await eventually(() => served.length === 2, { withinMs: 12_000 });
  }, 20_000);

  test.for([false, true])('after a restart of the server (emptied: %s) work flows again', async (empty) => {
    const served: number[] = [];
    await on.consume({ handle: async (work) => void served.push(work.i) });
    const runId = newRunId();
    await on.publish(actWork({ runId, i: 0 }));
    await eventually(() => served.length === 1);
    await on.nats.kill();
    await on.nats.restart({ empty });
    await on.publish(actWork({ runId, i: 1 }));
    await eventually(() => served.includes(1), { withinMs: 12_000 });
    expect(served.filter((i) => i === 1)).toHaveLength(1);
  });

  test('R20: a server that lost everything: what is under way is not begun again, and other work does not wait for its end', async () => {
    const begun: number[] = [];
    const finish = Promise.withResolvers<void>();
    await on.consume({
      async handle({ i }) {
        begun.push(i);
        if (i === 0) await finish.promise;
      },
    });
    const [slow, other] = [0, 1].map((i) => actWork({ runId: newRunId(), i }));
    await on.publish(slow!);
    await eventually(() => begun.length === 1);
    await on.nats.kill();
    await on.nats.restart({ empty: true });
    // The first message of the new stream has the number that the slow one had in the old.
    await on.publish(other!);
    await on.publish(slow!);
    await eventually(() => begun.includes(1), { withinMs: 12_000 });
    const isTaken = async () => (await on.bus.jsm.consumers.info('ACT', 'act-default-demo')).num_pending === 0;
    await eventually(isTaken);
    finish.resolve();
    await eventually(async () => (await on.left()) === 0);
    expect(begun).toEqual([0, 1]);
  }, 40_000);
});
