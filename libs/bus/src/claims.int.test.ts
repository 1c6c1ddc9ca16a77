import { RejectedError, streams, subjects, type ThinkWork } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { createDefinitions } from './definitions.ts';
import { readFacts } from './follow.ts';
import { encodeMessage } from './message.ts';
import { publishFact, publishWork } from './publish.ts';
import { actWork, createApps, newRunId, signalFact, thinkWork } from './testing/samples.ts';
import { sweepBodies } from './sweep-bodies.ts';
import { consumeWork } from './work-queue.ts';

const servers = useTestServers();
let bus: Bus;

beforeAll(async () => {
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
});
afterAll(async () => {
  await bus.close();
});

const storedMessages = async () => (await bus.jsm.streams.info('OBJ_pawl_claims')).state.messages;
const consumeThink = (content: string[]) =>
  consumeWork(bus, {
    kind: 'think',
    queues: ['interactive'],
    apps: createApps('demo'),
    concurrency: 2,
    handle: async (work) => void content.push(String(work.messages[0]?.content)),
  });

test('large work travels whole; once it is acknowledged nothing of it stays', async () => {
  const runId = newRunId();
  const large = 'x'.repeat(3_000_000);
  expect(await publishWork(bus, thinkWork({ runId, m: 0, content: large }), newTraceContext())).toBe('written');
  expect(await storedMessages()).toBeGreaterThan(1);
  const content: string[] = [];
  const queue = await consumeThink(content);
  await eventually(() => content.length === 1);
  expect(content[0]).toBe(large);
  await eventually(async () => (await storedMessages()) === 0);

  // Driven again with the same content, as a watchdog does (I4).
  expect(await publishWork(bus, thinkWork({ runId, m: 0, content: large }), newTraceContext())).toBe('written');
  await eventually(() => content.length === 2);
  expect(content[1]).toBe(large);
  await eventually(async () => (await storedMessages()) === 0);
  await queue.stop();
});

test('large work that is already waiting leaves no second body and keeps its own', async () => {
  const work = thinkWork({ runId: newRunId(), m: 0, content: 'y'.repeat(2_000_000) });
  await publishWork(bus, work, newTraceContext());
  const before = await storedMessages();
  expect(await publishWork(bus, work, newTraceContext())).toBe('pending');
  expect(await storedMessages()).toBe(before);
  const content: string[] = [];
  const queue = await consumeThink(content);
  await eventually(() => content.length === 1);
  await eventually(async () => (await storedMessages()) === 0);
  await queue.stop();
});

test('a body whose work was never published, or is done, goes once it is old; that of waiting work stays', async () => {
  const [waiting, unpublished, done] = [newRunId(), newRunId(), newRunId()].map((runId) =>
    thinkWork({ runId, m: 0, content: 'v'.repeat(2_000_000) }),
  ) as [ThinkWork, ThinkWork, ThinkWork];
  await publishWork(bus, waiting, newTraceContext());
  const kept = await storedMessages();
  const trace = newTraceContext();
  await encodeMessage(bus, { subject: subjects.work(unpublished), body: unpublished, trace });
  await publishWork(bus, done, trace);
  await bus.jsm.streams.purge(streams.think, { filter: subjects.work(done) });
  expect(await storedMessages()).toBe(3 * kept);
  expect(await sweepBodies(bus, { nowMs: Date.now() })).toBe(0);
  const later = Date.now() + 3_700_000;
  expect(await sweepBodies(bus, { nowMs: later })).toBe(2);
  expect(await storedMessages()).toBe(kept);
  await bus.jsm.streams.purge(streams.think, { filter: subjects.work(waiting) });
  expect(await sweepBodies(bus, { nowMs: later })).toBe(1);
  expect(await storedMessages()).toBe(0);
});

test('large work that is rejected leaves nothing either', async () => {
  const runId = newRunId();
  await publishWork(bus, actWork({ runId, i: 0, args: 'z'.repeat(2_000_000) }), newTraceContext());
  const queue = await consumeWork(bus, {
    kind: 'act',
    queues: ['default'],
    apps: createApps('demo'),
    concurrency: 1,
    handle: () => Promise.reject(new RejectedError('invalid_arguments', 'no')),
  });
  await eventually(async () => (await storedMessages()) === 0);
  await queue.stop();
});

test('of the same large fact from two writers one body stays, as long as the fact is in the log', async () => {
  const fact = signalFact({ runId: newRunId(), id: 'a', text: 'w'.repeat(2_000_000) });
  const outcomes = await Promise.all([1, 2].map(() => publishFact(bus, fact, newTraceContext())));
  expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['refused', 'written']);
  const later = Date.now() + 3_700_000;
  expect(await sweepBodies(bus, { nowMs: Date.now() })).toBe(0);
  expect(await sweepBodies(bus, { nowMs: later })).toBe(1);
  expect(await sweepBodies(bus, { nowMs: later })).toBe(0);
  expect((await readFacts(bus, 'demo', fact.runId))[0]?.fact).toEqual(fact);

  await bus.jsm.streams.purge(streams.runs, { filter: subjects.factsOfRun('demo', fact.runId) });
  expect(await sweepBodies(bus, { nowMs: later })).toBe(1);
  expect(await storedMessages()).toBe(0);
  // Written again, as what a log has lost (I3).
  expect((await publishFact(bus, fact, newTraceContext())).outcome).toBe('written');
  expect((await readFacts(bus, 'demo', fact.runId))[0]?.fact).toEqual(fact);
});

test('a definition above the payload limit, which runs share, stays', async () => {
  const base = { apiVersion: 'pawl.dev/v1' as const, metadata: { app: 'demo', name: 'large' } };
  const spec = { instructions: 'x', models: { think: 'smart' } };
  const agent = { revision: 'a'.repeat(64), object: { ...base, kind: 'Agent' as const, spec } };
  const tool = { description: 'd'.repeat(9_000), builtin: { name: 'calculator' as const } };
  const tools = Array.from({ length: 300 }, () => ({
    revision: 'b'.repeat(64),
    object: { ...base, kind: 'Tool' as const, spec: tool },
  }));
  const before = await storedMessages();
  const hash = await createDefinitions(bus).put({ v: 1, agent, tools });
  expect(await storedMessages()).toBeGreaterThan(before);
  await sweepBodies(bus, { nowMs: Date.now() + 3_700_000 });
  expect((await createDefinitions(bus).get(hash)).tools).toHaveLength(300);
});

test('R17: a fact of 40 MB is offloaded; small ones written meanwhile are not held up; above 64 MiB it is refused', async () => {
  const runId = newRunId();
  const huge = publishFact(bus, signalFact({ runId, id: 'huge', text: 'h'.repeat(40_000_000) }), newTraceContext());
  let isDone = false;
  const done = huge.finally(() => (isDone = true));
  let written = 0;
  for (; !isDone; written += 1) {
    await publishFact(bus, signalFact({ runId, id: `small-${written}` }), newTraceContext());
  }
  expect((await done).outcome).toBe('written');
  expect(written).toBeGreaterThan(3);
  const facts = await readFacts(bus, 'demo', runId);
  expect(facts).toHaveLength(written + 1);

  const tooLarge = signalFact({ runId, id: 'too-large', text: 'h'.repeat(68_000_000) });
  await expect(publishFact(bus, tooLarge, newTraceContext())).rejects.toThrow(RejectedError);
}, 60_000);
