import { eventually, startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { leaseTtlMs } from './layout.ts';
import { holdLeases, type Leases } from './leases.ts';

let nats: BreakableNats;
const replicas: Replica[] = [];
let names = 0;

type Replica = { bus: Bus; leases: Leases; events: string[] };

beforeAll(async () => {
  nats = await startBreakableNats();
});
afterEach(async () => {
  await Promise.all(replicas.map(({ leases }) => leases.stop()));
  await Promise.all(replicas.splice(0).map(({ bus }) => bus.close()));
});
afterAll(async () => {
  await nats.stop();
});

async function addReplica(): Promise<Replica> {
  const bus = await connectBus({ url: nats.url, name: 'test' });
  const events: string[] = [];
  names += 1;
  const leases = await holdLeases(bus, {
    replica: `replica-${names}`,
    onAcquired: (partition) => void events.push(`+${partition}`),
    onLost: (partition) => void events.push(`-${partition}`),
  });
  const replica = { bus, leases, events };
  replicas.push(replica);
  return replica;
}

const all = [0, 1, 2, 3, 4, 5, 6, 7];
const heldBy = ({ leases }: Replica) => all.filter((partition) => leases.isHeld(partition));

const isAll = (of: Replica[]) =>
  of
    .flatMap(heldBy)
    .toSorted((a, b) => a - b)
    .join() === all.join();

/** Looks all the time whether two replicas trust the same lease; tells at the end. */
function watchForTwoHolders(): () => string[] {
  const seen = new Set<string>();
  const timer = setInterval(() => {
    for (const partition of all) {
      const holders = replicas.filter(({ leases }) => leases.isHeld(partition));
      if (holders.length > 1) seen.add(`partition ${partition} has ${holders.length} holders`);
    }
  }, 1);
  return () => {
    clearInterval(timer);
    return [...seen];
  };
}

test('one replica has all at once, two share evenly, and what one gives back the other has soon', async () => {
  const twoHolders = watchForTwoHolders();
  const first = await addReplica();
  expect(heldBy(first)).toEqual(all);
  const second = await addReplica();
  await eventually(() => heldBy(first).length === 4 && heldBy(second).length === 4, { withinMs: 9_000 });
  await second.leases.stop();
  expect(heldBy(second)).toEqual([]);
  expect(second.leases.owned()).toEqual([]);
  await eventually(() => heldBy(first).length === 8, { withinMs: 4_000 });
  expect(twoHolders()).toEqual([]);
  expect(first.events.filter((event) => event.startsWith('+'))).toHaveLength(12);
  expect(second.events.filter((event) => event.startsWith('-'))).toHaveLength(4);
}, 30_000);

test('three replicas leave nothing out', async () => {
  const three = [await addReplica(), await addReplica(), await addReplica()];
  await eventually(() => isAll(three) && three.every((r) => heldBy(r).length >= 2), {
    withinMs: 12_000,
  });
}, 30_000);

test('a replica dies: the other has its share within 9 s', async () => {
  const twoHolders = watchForTwoHolders();
  const dying = await addReplica();
  const living = await addReplica();
  await eventually(() => heldBy(dying).length === 4 && heldBy(living).length === 4, { withinMs: 9_000 });
  await dying.bus.connection.close();
  const diedAtMs = performance.now();
  await eventually(() => heldBy(living).length === 8, { withinMs: 12_000 });
  expect(performance.now() - diedAtMs).toBeLessThan(9_000);
  expect(heldBy(dying)).toEqual([]);
  expect(dying.leases.owned()).toEqual([]);
  expect(twoHolders()).toEqual([]);
}, 40_000);

test('an outage: trust ends before the server could give the lease to another, and returns with the server', async () => {
  const twoHolders = watchForTwoHolders();
  const first = await addReplica();
  const second = await addReplica();
  await eventually(() => heldBy(first).length === 4 && heldBy(second).length === 4, { withinMs: 9_000 });
  await nats.kill();
  const cutAtMs = performance.now();
  await eventually(() => heldBy(first).length + heldBy(second).length === 0, { withinMs: leaseTtlMs });
  expect(performance.now() - cutAtMs).toBeLessThan(leaseTtlMs - 1_000);
  await eventually(() => first.leases.owned().length === 0, { withinMs: 1_000 });
  await nats.restart();
  await eventually(() => isAll([first, second]), { withinMs: 12_000 });
  expect(twoHolders()).toEqual([]);
}, 60_000);

test('a server that hangs for a while costs at most the leases, never the balance', async () => {
  const twoHolders = watchForTwoHolders();
  const only = await addReplica();
  nats.freeze();
  await eventually(() => heldBy(only).length === 0, { withinMs: leaseTtlMs });
  nats.resume();
  await eventually(() => heldBy(only).length === 8, { withinMs: 20_000 });
  expect(twoHolders()).toEqual([]);
}, 60_000);

test('a lease that is another replica’s by now is not given back', async () => {
  const slow = await addReplica();
  const thief = await connectBus({ url: nats.url, name: 'thief' });
  await thief.leases.put('partition.3', 'another');
  await slow.leases.stop();
  expect((await thief.leases.get('partition.3'))?.string()).toBe('another');
  expect((await thief.leases.get('partition.4'))?.operation).toBe('DEL');
  await thief.close();
});
