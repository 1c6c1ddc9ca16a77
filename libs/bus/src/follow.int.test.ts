import { headers } from '@nats-io/nats-core';
import { partitionOf, streams, subjects } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { followFacts, readFacts, type ReceivedFact } from './follow.ts';
import { publishFact } from './publish.ts';
import { newRunId, signalFact } from './testing/samples.ts';

/** Whoever waited for a pull to end would need longer. */
const quickMs = 5_000;
let nats: BreakableNats;
let bus: Bus;

beforeAll(async () => {
  nats = await startBreakableNats();
  bus = await connectBus({ url: nats.url, name: 'test' });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

const publish = (runId: string, id: string, text?: string) =>
  publishFact(bus, signalFact({ runId, id, ...(text !== undefined && { text }) }), newTraceContext());

async function publishMany(runId: string, from: number, to: number): Promise<void> {
  for (let id = from; id < to; id += 1) await publish(runId, String(id));
}

const idsOf = (facts: ReceivedFact[]) => facts.map(({ fact }) => (fact.kind === 'signal' ? fact.id : fact.kind));
const numbers = (to: number) => Array.from({ length: to }, (_, id) => String(id));

/** A reading that has come to a standstill goes on with a new consumer. */
async function consumersOfRuns(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of bus.jsm.consumers.list(streams.runs)) names.push(name);
  return names.toSorted();
}

/** Follows one run, keeping what comes. */
async function collect(runId: string, startSequence?: number) {
  const facts: ReceivedFact[] = [];
  const counts = { caughtUp: 0 };
  const unreadable: object[] = [];
  const following = followFacts(bus, {
    filter: subjects.factsOfRun('demo', runId),
    ...(startSequence !== undefined && { startSequence }),
    onFact: (received) => void facts.push(received),
    onCaughtUp: () => void (counts.caughtUp += 1),
    onUnreadable: (about) => void unreadable.push(about),
  });
  return { facts, counts, unreadable, following };
}

describe('reading one run', () => {
  test('what was said before its first fact, which was written late, is read as well', async () => {
    const [runId, other] = [newRunId(), newRunId()];
    await publish(runId, 'early');
    const between = Array.from({ length: 1_100 }, (_, id) => publish(other, String(id)));
    await Promise.all(between);
    const first = subjects.fact({ partition: partitionOf(runId, bus.partitions), app: 'demo', runId }, 'started');
    await bus.js.publish(first, '{"at":"2020-01-01T00:00:00.000Z"}');
    await publish(runId, 'late');
    expect(idsOf(await readFacts(bus, 'demo', runId))).toEqual(['early', 'late']);
  });
});

describe('following', () => {
  test('what was there and what comes arrives in order; caught up is told once', async () => {
    const runId = newRunId();
    await publishMany(runId, 0, 50);
    const { facts, counts, following } = await collect(runId);
    await eventually(() => counts.caughtUp === 1);
    expect(idsOf(facts)).toEqual(numbers(50));
    await publishMany(runId, 50, 100);
    await eventually(() => facts.length >= 100);
    expect(idsOf(facts)).toEqual(numbers(100));
    expect(counts.caughtUp).toBe(1);
    await following.stop();
  });

  test('a filter without messages is caught up at once and hears what comes', async () => {
    const runId = newRunId();
    const { facts, counts, following } = await collect(runId);
    await eventually(() => counts.caughtUp === 1);
    await publish(runId, 'a');
    await eventually(() => facts.length === 1);
    await following.stop();
  });

  test('startSequence begins there, also beyond the end', async () => {
    const runId = newRunId();
    await publishMany(runId, 0, 10);
    const all = await readFacts(bus, 'demo', runId);
    const some = await collect(runId, all[6]!.sequence);
    await eventually(() => some.counts.caughtUp === 1);
    expect(idsOf(some.facts)).toEqual(['6', '7', '8', '9']);
    const none = await collect(runId, all[9]!.sequence + 1);
    await eventually(() => none.counts.caughtUp === 1);
    expect(none.facts).toEqual([]);
    await publish(runId, '10');
    await eventually(() => none.facts.length === 1 && some.facts.length === 5);
    await Promise.all([some.following.stop(), none.following.stop()]);
  });

  test('a slow reader is not overrun: one fact after the other', async () => {
    const runId = newRunId();
    await publishMany(runId, 0, 30);
    let underWay = 0;
    let mostUnderWay = 0;
    const seen: string[] = [];
    const following = followFacts(bus, {
      filter: subjects.factsOfRun('demo', runId),
      async onFact(received) {
        underWay += 1;
        mostUnderWay = Math.max(mostUnderWay, underWay);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(...idsOf([received]));
        underWay -= 1;
      },
    });
    await eventually(() => seen.length === 30);
    expect(seen).toEqual(numbers(30));
    expect(mostUnderWay).toBe(1);
    await following.stop();
  });

  test('a large fact behind many small ones holds nothing up: the same consumer gives all of them', async () => {
    const runId = newRunId();
    const { facts, following } = await collect(runId);
    await publish(runId, '0');
    await eventually(() => facts.length === 1);
    const before = await consumersOfRuns();
    const large = 'x'.repeat(200_000);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(numbers(150).map((id) => publish(runId, `${round}-${id}`)));
      await publish(runId, `${round}-large`, large);
    }
    await eventually(() => facts.length >= 756, { withinMs: 20_000 });
    expect(idsOf(facts).filter((id) => id.endsWith('large'))).toHaveLength(5);
    expect(await consumersOfRuns()).toEqual(before);
    await following.stop();
  });

  test('stop is quick and nothing comes after it', async () => {
    const runId = newRunId();
    const { facts, following } = await collect(runId);
    await publish(runId, 'a');
    await eventually(() => facts.length === 1);
    const startedAtMs = performance.now();
    await following.stop();
    expect(performance.now() - startedAtMs).toBeLessThan(quickMs);
    await publish(runId, 'b');
    expect(await readFacts(bus, 'demo', runId)).toHaveLength(2);
    expect(facts).toHaveLength(1);
  });
});

describe('messages that are no facts', () => {
  test('are passed over and reported', async () => {
    const runId = newRunId();
    const subject = (slot: string) => `pawl.run.0.demo.${runId}.${slot}`;
    await publish(runId, '0');
    await bus.js.publish(subject('junk.1'), 'not JSON');
    await bus.js.publish(subject('junk.2'), new Uint8Array([0xff, 0xfe, 0x22]));
    await bus.js.publish(subject('junk.3'), '{"kind":"signal"}');
    await bus.js.publish(subject('junk.4'), '');
    await publish(runId, '1');
    const { facts, unreadable, counts, following } = await collect(runId);
    await eventually(() => counts.caughtUp === 1);
    expect(idsOf(facts)).toEqual(['0', '1']);
    expect(unreadable).toHaveLength(4);
    await following.stop();
  });

  test('a body that is not in the object store any more does not hold up the rest for ever', async () => {
    const runId = newRunId();
    const lost = headers();
    lost.set('pawl-claim', 'f'.repeat(64));
    await bus.js.publish(`pawl.run.0.demo.${runId}.signal.0`, '', { headers: lost });
    await publish(runId, '1');
    const { facts, unreadable, following } = await collect(runId);
    await eventually(() => facts.length === 1, { withinMs: 20_000 });
    expect(unreadable).toMatchObject([{ reason: 'UnavailableError' }]);
    await following.stop();
  });
});

describe('large facts', () => {
  test('come by claim check, in order with small ones', async () => {
    const runId = newRunId();
    const large = 'é'.repeat(2_500_000);
    await publish(runId, '0');
    expect(await publish(runId, '1', large)).toMatchObject({ outcome: 'written' });
    await publish(runId, '2');
    const { facts, counts, following } = await collect(runId);
    await eventually(() => counts.caughtUp === 1);
    expect(idsOf(facts)).toEqual(['0', '1', '2']);
    expect(facts[1]!.fact).toMatchObject({ text: large });
    await following.stop();
  });
});

describe('outages', () => {
  test('the server restarts while facts are written: none missing, none twice', async () => {
    const runId = newRunId();
    await publishMany(runId, 0, 20);
    const { facts, counts, following } = await collect(runId);
    await eventually(() => counts.caughtUp === 1);
    for (let round = 1; round <= 3; round += 1) {
      const writing = publishMany(runId, round * 20, round * 20 + 20);
      await nats.kill();
      await nats.restart();
      await writing;
    }
    await eventually(() => facts.length >= 80, { withinMs: 15_000 });
    expect(idsOf(facts)).toEqual(numbers(80));
    expect(counts.caughtUp).toBe(1);
    await following.stop();
  }, 60_000);

  test('the consumer is deleted behind its back: it goes on within some seconds', async () => {
    const runId = newRunId();
    await publishMany(runId, 0, 5);
    const { facts, following } = await collect(runId);
    await eventually(() => facts.length === 5);
    for await (const { name } of bus.jsm.consumers.list(streams.runs))
      await bus.jsm.consumers.delete(streams.runs, name);
    await publishMany(runId, 5, 10);
    await eventually(() => facts.length >= 10, { withinMs: 10_000 });
    expect(idsOf(facts)).toEqual(numbers(10));
    await following.stop();
  }, 30_000);

  test('begun during an outage, it starts when the server is back; stopped during one, it stops at once', async () => {
    const runId = newRunId();
    await publish(runId, 'a');
    await nats.kill();
    await eventually(() => !bus.isConnected());
    const { facts, following } = await collect(runId);
    const other = await collect(runId);
    const startedAtMs = performance.now();
    await other.following.stop();
    expect(performance.now() - startedAtMs).toBeLessThan(quickMs);
    await nats.restart();
    await eventually(() => facts.length === 1, { withinMs: 15_000 });
    await following.stop();
  }, 30_000);

  test('a log that lost its tail is read again from the start', async () => {
    const runId = newRunId();
    await publishMany(runId, 0, 5);
    const facts: ReceivedFact[] = [];
    let rewound = 0;
    const following = followFacts(bus, {
      filter: subjects.factsOfRun('demo', runId),
      onFact: (received) => void facts.push(received),
      onRewound: () => {
        rewound += 1;
        facts.splice(0);
      },
    });
    await eventually(() => facts.length === 5);
    await nats.kill();
    await nats.restart({ empty: true });
    await publishMany(runId, 0, 2);
    await eventually(() => facts.length === 2 && rewound === 1, { withinMs: 15_000 });
    await following.stop();
  }, 30_000);
});

test('readFacts: a run among many others is read in some milliseconds', async () => {
  const runIds = Array.from({ length: 200 }, newRunId);
  await Promise.all(runIds.map((runId) => publishMany(runId, 0, 10)));
  const tookMs: number[] = [];
  for (const runId of runIds.slice(0, 50)) {
    const startedAtMs = performance.now();
    expect(idsOf(await readFacts(bus, 'demo', runId))).toEqual(numbers(10));
    tookMs.push(performance.now() - startedAtMs);
  }
  const median = tookMs.toSorted((a, b) => a - b)[25]!;
  console.info(`readFacts of 10 facts among 2,000: median ${median.toFixed(1)} ms`);
  expect(await readFacts(bus, 'demo', newRunId())).toEqual([]);
  expect(median).toBeLessThan(100);
});
