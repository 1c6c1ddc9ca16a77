import { errors, headers, type Msg } from '@nats-io/nats-core';
import { startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createPublishAcknowledged, type PublishAcknowledged } from './acknowledged.ts';
import { connectBus, type Bus } from './connect.ts';
import { isTransient } from './failures.ts';
import { isSlotTaken } from './publish.ts';
import { newRunId } from './testing/samples.ts';

let nats: BreakableNats;
let bus: Bus;

beforeAll(async () => {
  nats = await startBreakableNats();
});
beforeEach(async () => {
  bus = await connectBus({ url: nats.url, name: 'test' });
});
afterEach(() => bus.close());
afterAll(() => nats.stop());

const create = (timeoutMs = 5_000) =>
  createPublishAcknowledged(bus.connection, { inbox: bus.createInbox(), timeoutMs });

function send(publish: PublishAcknowledged, subject: string): Promise<number> {
  const once = headers();
  once.set('Nats-Expected-Last-Subject-Sequence', '0');
  return publish({ subject, payload: new TextEncoder().encode('{}'), headers: once });
}

const failureOf = (sending: Promise<number>) =>
  sending.then(
    () => undefined,
    (error: unknown) => error,
  );

const slots = (count: number) => {
  const runId = newRunId();
  return Array.from({ length: count }, (_, slot) => `pawl.run.0.demo.${runId}.signal.${slot}`);
};

test('each of many messages at once gets its own position', async () => {
  const publish = create();
  const subjects = slots(200);
  const positions = await Promise.all(subjects.map((subject) => send(publish, subject)));
  const stored = await Promise.all(
    positions.map(async (seq) => (await bus.jsm.streams.getMessage('RUNS', { seq }))?.subject),
  );
  expect(stored).toEqual(subjects);
});

test('the server’s refusal is told, and is for good', async () => {
  const publish = create();
  const [slot = ''] = slots(1);
  await send(publish, slot);
  const failure = await failureOf(send(publish, slot));
  expect(isSlotTaken(failure)).toBe(true);
  expect(isTransient(failure)).toBe(false);
});

test('a subject that no stream takes is told at once', async () => {
  const failure = await failureOf(send(create(), 'pawl.nowhere'));
  expect(failure).toBeInstanceOf(errors.NoRespondersError);
  expect(isTransient(failure)).toBe(true);
});

test('an answer that is none is a failure of its own message', async () => {
  const publish = create();
  bus.connection.subscribe('pawl.nowhere.*', { callback: (_, message) => void message.respond(message.subject) });
  const [slot = ''] = slots(1);
  const [text, json, position] = await Promise.all([
    failureOf(send(publish, 'pawl.nowhere.x')),
    failureOf(send(publish, 'pawl.nowhere.{}')),
    send(publish, slot),
  ]);
  expect(text).toBeInstanceOf(SyntaxError);
  expect(json).toBeInstanceOf(Error);
  expect(position).toBeGreaterThan(0);
});

/** What listens to a subject, and answers when it is told to. */
function createSilent(): { answerAll(): void } {
  const held: Msg[] = [];
  bus.connection.subscribe('pawl.silent.*', { callback: (_, message) => void held.push(message) });
  return { answerAll: () => held.forEach((message) => message.respond('{"stream":"RUNS","seq":1}')) };
}

test('who does not answer is given up on, each message at its own time; late answers change nothing', async () => {
  const publish = create(600);
  const { answerAll } = createSilent();
  const startedAtMs = performance.now();
  const endOf = async (subject: string) => ({
    failure: await failureOf(send(publish, subject)),
    afterMs: performance.now() - startedAtMs,
  });
  const earlier = endOf('pawl.silent.a');
  // Time is what is tested: a message that is sent later waits as long as the others.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const [sooner, later] = await Promise.all([earlier, endOf('pawl.silent.b')]);
  expect([sooner.failure, later.failure]).toEqual([expect.any(errors.TimeoutError), expect.any(errors.TimeoutError)]);
  expect(sooner.afterMs).toBeGreaterThan(590);
  expect(later.afterMs - sooner.afterMs).toBeGreaterThan(200);
  expect(later.afterMs).toBeLessThan(3_000);
  answerAll();
  expect(await send(publish, slots(1)[0] ?? '')).toBeGreaterThan(0);
});

test('a connection that is closed fails what waits, and what comes', async () => {
  const publish = create();
  createSilent();
  const waiting = ['a', 'b', 'c'].map((name) => failureOf(send(publish, `pawl.silent.${name}`)));
  await bus.connection.flush();
  await bus.connection.close();
  const failures = [...(await Promise.all(waiting)), await failureOf(send(publish, 'pawl.silent.a'))];
  expect(failures).toEqual(failures.map(() => expect.any(errors.ClosedConnectionError)));
  expect(failures.every(isTransient)).toBe(true);
});

test('answers come again after the connection was lost', async () => {
  const publish = create();
  const [first = '', second = ''] = slots(2);
  await send(publish, first);
  const reconnected = Promise.withResolvers<void>();
  bus.onReconnect(reconnected.resolve);
  await nats.kill();
  await nats.restart();
  await reconnected.promise;
  expect(await send(publish, second)).toBeGreaterThan(0);
});
