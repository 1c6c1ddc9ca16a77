/**
 * Who decides for which partition. Leases only keep replicas from doing the same work twice;
 * that no slot is written twice is the log's own doing (I1).
 *
 * 1. A lease lives for 6 s on the server from its last renewal; its holder trusts it for 4.5 s from when it asked for
 *    that renewal, by its own monotonic clock. So no two replicas ever both trust one.
 * 2. A lease is given back only in the state in which it was held, so nobody gives back what is another's by now.
 */
import { buckets } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { pause } from './failures.ts';
import { leaseTtlMs } from './layout.ts';

const renewEveryMs = 1_500;
/** A lease that was last renewed longer ago than this may already be somebody else's. */
const trustMs = leaseTtlMs - 1_500;
const watchEveryMs = 250;
const stopWithinMs = 1_000;
const replicaPrefix = `$KV.${buckets.leases}.replica.`;

export type LeaseOptions = {
  /** This replica's name, unique among the living: letters, digits, `-` and `_`. */
  replica: string;
  onAcquired(partition: number): void;
  onLost(partition: number): void;
  onError?(error: unknown): void;
};

export type Leases = {
  owned(): number[];
  /** Whether this replica may still act for a partition, by its own monotonic clock. */
  isHeld(partition: number): boolean;
  /** Gives everything back at once; without a server the leases run out by themselves. */
  stop(): Promise<void>;
};

type Held = { revision: number; renewedAtMs: number };

/** Takes a fair share of the partitions and keeps it. After a replica's death the others have its share within 9 s. */
export async function holdLeases(bus: Bus, options: LeaseOptions): Promise<Leases> {
  const mine = createHoldings(bus, options);
  const stopping = Promise.withResolvers<void>();
  let isStopped = false;

  const balance = async () => {
    mine.loseStale();
    await Promise.all([bus.leases.put(`replica.${options.replica}`, ''), mine.renewAll()]);
    const share = Math.ceil(bus.partitions / Math.max(1, await countReplicas(bus)));
    await Promise.all(mine.owned().slice(share).map(mine.release));
    for (let partition = 0; partition < bus.partitions && mine.owned().length < share && !isStopped; partition += 1) {
      if (!mine.owned().includes(partition)) await mine.acquire(partition);
    }
  };
  const tryBalance = () => balance().catch((error: unknown) => options.onError?.(error));
  const keepBalancing = async () => {
    while (!isStopped) {
      await Promise.race([pause(renewEveryMs), stopping.promise]);
      if (bus.isConnected() && !isStopped) await tryBalance();
    }
  };
  const giveBack = async () => {
    await balancing;
    await Promise.all(mine.owned().map(mine.release));
    await bus.jsm.streams.purge(`KV_${buckets.leases}`, { filter: `${replicaPrefix}${options.replica}` });
  };

  await tryBalance();
  const balancing = keepBalancing();
  const watching = setInterval(mine.loseStale, watchEveryMs);

  return {
    owned: mine.owned,
    isHeld: mine.isHeld,
    async stop() {
      isStopped = true;
      stopping.resolve();
      clearInterval(watching);
      if (bus.isConnected()) await Promise.race([giveBack().catch(() => undefined), pause(stopWithinMs)]);
      mine.owned().forEach(mine.lose);
    },
  };
}

/** The leases of this replica, one by one; what share of them is fair is not decided here. */
function createHoldings(bus: Bus, options: LeaseOptions) {
  const held = new Map<number, Held>();
  const isFresh = (lease: Held | undefined) => lease !== undefined && performance.now() - lease.renewedAtMs < trustMs;
  const lose = (partition: number) => {
    if (held.delete(partition)) options.onLost(partition);
  };
  const renew = async (partition: number, lease: Held) => {
    const renewedAtMs = performance.now();
    try {
      const revision = await bus.leases.update(keyOf(partition), options.replica, lease.revision);
      if (held.get(partition) === lease) held.set(partition, { revision, renewedAtMs });
    } catch {
      await repair(partition, lease);
    }
  };
  /** The renewal failed, or only its answer was lost: the bucket knows. */
  const repair = async (partition: number, lease: Held) => {
    const entry = await bus.leases.get(keyOf(partition)).catch(() => undefined);
    if (entry === undefined || held.get(partition) !== lease) return;
    const isOurs = entry?.operation === 'PUT' && entry.string() === options.replica;
    if (isOurs) held.set(partition, { ...lease, revision: entry.revision });
    else lose(partition);
  };
  return {
    owned: () => [...held.keys()],
    isHeld: (partition: number) => isFresh(held.get(partition)),
    lose,
    loseStale: () => [...held].forEach(([partition, lease]) => isFresh(lease) || lose(partition)),
    renewAll: () => Promise.all([...held].map(([partition, lease]) => renew(partition, lease))),
    async acquire(partition: number) {
      const renewedAtMs = performance.now();
      const revision = await bus.leases.create(keyOf(partition), options.replica).catch(() => undefined);
      if (revision === undefined) return;
      held.set(partition, { revision, renewedAtMs });
      options.onAcquired(partition);
    },
    async release(partition: number) {
      const lease = held.get(partition);
      lose(partition);
      if (lease) await bus.leases.delete(keyOf(partition), { previousSeq: lease.revision }).catch(() => undefined);
    },
  };
}

function keyOf(partition: number): string {
  return `partition.${partition}`;
}

async function countReplicas(bus: Bus): Promise<number> {
  const { state } = await bus.jsm.streams.info(`KV_${buckets.leases}`, { subjects_filter: `${replicaPrefix}>` });
  return Object.keys(state.subjects ?? {}).length;
}
