/**
 * Who decides for which partition. Leases only keep replicas from doing the same work twice;
 * that no slot is written twice is the log's own doing (I1).
 */
import type { KV } from '@nats-io/kv';
import { leaseTtlMs, type Bus } from './connect.ts';

const renewEveryMs = 1_500;
/** A lease that was last renewed longer ago than this may already be somebody else's. */
const trustMs = leaseTtlMs - 1_500;

export type LeaseOptions = {
  /** This replica's name, unique among the living. */
  replica: string;
  onAcquired(partition: number): void;
  onLost(partition: number): void;
  onError?(error: unknown): void;
};

export type Leases = {
  owned(): number[];
  /** Whether this replica may still act for a partition, by its own monotonic clock. */
  isHeld(partition: number): boolean;
  /** Gives everything back at once. */
  stop(): Promise<void>;
};

type Held = { revision: number; renewedAtMs: number };

/** Takes a fair share of the partitions and keeps it. After a replica's death the others have its share within 8 s. */
export async function holdLeases(bus: Bus, options: LeaseOptions): Promise<Leases> {
  const held = new Map<number, Held>();
  const bucket = bus.leases;
  const replicaKey = `replica.${options.replica}`;
  let isStopped = false;

  const lose = (partition: number) => {
    if (held.delete(partition)) options.onLost(partition);
  };
  const isHeld = (partition: number) => {
    const lease = held.get(partition);
    return lease !== undefined && performance.now() - lease.renewedAtMs < trustMs;
  };
  const renewAll = () =>
    Promise.all(
      [...held].map(async ([partition, lease]) => {
        const askedAtMs = performance.now();
        try {
          const revision = await bucket.update(`partition.${partition}`, options.replica, lease.revision);
          held.set(partition, { revision, renewedAtMs: askedAtMs });
        } catch {
          if (!isHeld(partition) || (await ownerOf(bucket, partition)) !== options.replica) lose(partition);
        }
      }),
    );
  const acquire = async (partition: number) => {
    const askedAtMs = performance.now();
    const revision = await bucket.create(`partition.${partition}`, options.replica).catch(() => undefined);
    if (revision === undefined || isStopped) return;
    held.set(partition, { revision, renewedAtMs: askedAtMs });
    options.onAcquired(partition);
  };
  const release = async (partition: number) => {
    lose(partition);
    await bucket.delete(`partition.${partition}`).catch(() => undefined);
  };
  const balance = async () => {
    await bucket.put(replicaKey, '');
    await renewAll();
    const replicas = await liveReplicas(bucket);
    const share = Math.ceil(bus.partitions / Math.max(1, replicas.length));
    for (const partition of [...held.keys()].slice(share)) await release(partition);
    const missing = Array.from({ length: bus.partitions }, (_, partition) => partition).filter((p) => !held.has(p));
    for (const partition of missing) {
      if (held.size >= share || isStopped) break;
      await acquire(partition);
    }
  };

  await balance().catch((error: unknown) => options.onError?.(error));
  let balancing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    balancing = balancing.then(balance).catch((error: unknown) => {
      for (const partition of held.keys()) if (!isHeld(partition)) lose(partition);
      options.onError?.(error);
    });
  }, renewEveryMs);

  return {
    owned: () => [...held.keys()],
    isHeld,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await balancing;
      await Promise.all([...held.keys()].map(release));
      await bucket.delete(replicaKey).catch(() => undefined);
    },
  };
}

async function ownerOf(bucket: KV, partition: number): Promise<string | undefined> {
  const entry = await bucket.get(`partition.${partition}`).catch(() => null);
  return entry?.operation === 'PUT' ? entry.string() : undefined;
}

async function liveReplicas(bucket: KV): Promise<string[]> {
  const names: string[] = [];
  for await (const key of await bucket.keys('replica.>')) names.push(key);
  return names;
}
