import { streams, UnavailableError } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { readFacts } from './follow.ts';
import { publishFact, publishWork, type PublishOutcome } from './publish.ts';
import { actWork, newRunId, signalFact } from './testing/samples.ts';

let nats: BreakableNats;
const buses: Bus[] = [];
const connect = async () => {
  const bus = await connectBus({ url: nats.url, name: 'test' });
  buses.push(bus);
  return bus;
};

beforeAll(async () => {
  nats = await startBreakableNats();
});
afterEach(async () => {
  await Promise.all(buses.splice(0).map((bus) => bus.close()));
});
afterAll(async () => {
  await nats.stop();
});

type Try = PublishOutcome & { writer: number; slot: string };

/** Every writer goes for every slot, in its own order, with its own text. */
async function race(writers: Bus[], of: { runId: string; slots: number }): Promise<Try[]> {
  const tries = writers.flatMap((bus, writer) =>
    Array.from({ length: of.slots }, (_, slot) => (slot * 7 + writer * 31) % of.slots).map(async (slot) => {
      const fact = signalFact({ runId: of.runId, id: String(slot), text: `writer ${writer}` });
      return { ...(await publishFact(bus, fact, newTraceContext())), writer, slot: `signal.${slot}` };
    }),
  );
  return await Promise.all(tries);
}

describe('I1: a slot is written once', () => {
  test('four writers race for 400 slots: one wins each, and everybody reads the winner', async () => {
    const writers = await Promise.all(Array.from({ length: 4 }, connect));
    const runId = newRunId();
    const tries = await race(writers, { runId, slots: 400 });

    const won = new Map(tries.filter(({ outcome }) => outcome === 'written').map((one) => [one.slot, one.writer]));
    expect(won.size).toBe(400);
    expect(tries.filter(({ outcome }) => outcome === 'written')).toHaveLength(400);
    const facts = await readFacts(writers[0]!, 'demo', runId);
    expect(facts.map(({ slot }) => slot).toSorted()).toEqual([...won.keys()].toSorted());
    for (const { fact, slot } of facts) {
      expect(fact).toMatchObject({ text: `writer ${won.get(slot)}` });
    }
  });

  test('the server is killed and started again in the middle: nothing acknowledged is lost, nothing is there twice', async () => {
    const writers = await Promise.all(Array.from({ length: 4 }, connect));
    const runId = newRunId();
    let isOver = false;
    const rounds: Try[] = [];
    const racing = (async () => {
      for (let round = 0; !isOver; round += 1) {
        const slots = Array.from({ length: 50 }, (_, slot) => `${round}-${slot}`);
        const tries = slots.flatMap((id) =>
          writers.map(async (bus, writer) => {
            const fact = signalFact({ runId, id, text: `writer ${writer}` });
            return { ...(await publishFact(bus, fact, newTraceContext())), writer, slot: `signal.${id}` };
          }),
        );
        rounds.push(...(await Promise.all(tries)));
      }
    })();
    for (let outage = 0; outage < 2; outage += 1) {
      const before = rounds.length;
      await eventually(() => rounds.length > before + 200, { withinMs: 20_000 });
      await nats.kill();
      await nats.restart();
    }
    isOver = true;
    await racing;

    const facts = await readFacts(writers[0]!, 'demo', runId);
    const slots = facts.map(({ slot }) => slot);
    expect(new Set(slots).size).toBe(slots.length);
    const stored = new Map(facts.map(({ slot, fact, sequence }) => [slot, { fact, sequence }]));
    for (const one of rounds) {
      if (one.outcome !== 'written') continue;
      expect(stored.get(one.slot)).toMatchObject({ sequence: one.sequence, fact: { text: `writer ${one.writer}` } });
    }
    expect(new Set(rounds.map(({ slot }) => slot))).toEqual(new Set(slots));
  }, 90_000);
});

describe('an outage', () => {
  test('publishing waits through one of several seconds', async () => {
    const bus = await connect();
    const runId = newRunId();
    await nats.kill();
    const publishing = publishFact(bus, signalFact({ runId, id: 'a' }), newTraceContext());
    await eventually(() => !bus.isConnected());
    // Time is what is tested: an outage that is longer than one try.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await nats.restart();
    expect(await publishing).toMatchObject({ outcome: 'written' });
    expect(await readFacts(bus, 'demo', runId)).toHaveLength(1);
  }, 30_000);

  test('publishing gives up after 20 s, reading after 15 s, and both work again afterwards', async () => {
    const bus = await connect();
    const runId = newRunId();
    await nats.kill();
    const startedAtMs = performance.now();
    const [published, worked, read] = await Promise.allSettled([
      publishFact(bus, signalFact({ runId, id: 'a' }), newTraceContext()),
      publishWork(bus, actWork({ runId, i: 0 }), newTraceContext()),
      readFacts(bus, 'demo', runId),
    ]);
    const tookMs = performance.now() - startedAtMs;
    await nats.restart();
    for (const outcome of [published, worked, read]) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(UnavailableError) });
    }
    expect(tookMs).toBeGreaterThan(19_000);
    expect(tookMs).toBeLessThan(25_000);
    expect(await publishFact(bus, signalFact({ runId, id: 'a' }), newTraceContext())).toMatchObject({
      outcome: 'written',
    });
  }, 60_000);

  test('a stream that is not there yet, as after a restart of the server, is waited for', async () => {
    const bus = await connect();
    const runId = newRunId();
    await bus.jsm.streams.delete(streams.runs);
    const publishing = publishFact(bus, signalFact({ runId, id: 'a' }), newTraceContext());
    await connect();
    expect(await publishing).toMatchObject({ outcome: 'written' });
  }, 30_000);

  test('a server that hangs is waited for, too', async () => {
    const bus = await connect();
    const runId = newRunId();
    nats.freeze();
    const publishing = publishFact(bus, signalFact({ runId, id: 'a' }), newTraceContext());
    // Time is what is tested: a server that is silent for longer than one try.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    nats.resume();
    // The first try may have been stored although its answer came too late.
    expect(['written', 'refused']).toContain((await publishing).outcome);
    expect(await readFacts(bus, 'demo', runId)).toHaveLength(1);
  }, 30_000);

  test('close is quick without a server', async () => {
    const bus = await connectBus({ url: nats.url, name: 'test' });
    await nats.kill();
    await eventually(() => !bus.isConnected());
    const startedAtMs = performance.now();
    await bus.close();
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    await nats.restart();
  }, 30_000);

  test('a server that lost everything gets its streams and buckets back', async () => {
    const bus = await connect();
    const runId = newRunId();
    await nats.kill();
    await nats.restart({ empty: true });
    expect(await publishFact(bus, signalFact({ runId, id: 'a' }), newTraceContext())).toMatchObject({ sequence: 1 });
    expect(await readFacts(bus, 'demo', runId)).toHaveLength(1);
    expect(await bus.registry.put('x', 'y')).toBe(1);
  }, 30_000);
});

describe('R6: work', () => {
  test('the same work is refused while it waits, and taken again once it was acknowledged', async () => {
    const bus = await connect();
    const work = actWork({ runId: newRunId(), i: 0 });
    expect(await publishWork(bus, work, newTraceContext())).toBe('written');
    expect(await publishWork(bus, work, newTraceContext())).toBe('pending');
    await bus.jsm.consumers.add('ACT', { durable_name: 'taker', ack_policy: 'explicit' });
    const message = await (await bus.js.consumers.get('ACT', 'taker')).next();
    expect(await publishWork(bus, work, newTraceContext())).toBe('pending');
    await message?.ackAck();
    expect(await publishWork(bus, work, newTraceContext())).toBe('written');
    await bus.jsm.consumers.delete('ACT', 'taker');
  });
});
