/** The streams and buckets that Pawl stands on: made where they are missing, left as they are where they exist. */
import {
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type JetStreamClient,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { Kvm, type KV } from '@nats-io/kv';
import { Objm, type ObjectStore } from '@nats-io/obj';
import { allStreams, buckets, streams, streamSubjects, UnavailableError } from '@pawl/contracts';

/** How long a partition's lease lives without being renewed. */
export const leaseTtlMs = 6_000;
const partitionsDefault = 8;
const streamNotFound = 10_059;

export type Layout = {
  jsm: JetStreamManager;
  /** How many partitions the run log has; the same for every process on this server. */
  partitions: number;
  registry: KV;
  definitions: KV;
  keys: KV;
  settings: KV;
  leases: KV;
  claims: ObjectStore;
  results: ObjectStore;
};

/** Safe to repeat, and to run in several processes at once. */
export async function ensureLayout(
  on: { connection: NatsConnection; js: JetStreamClient },
  options: { partitions: number | undefined; replicas: number },
): Promise<Layout> {
  const { replicas } = options;
  const { connection, js } = on;
  const jsm = await jetstreamManager(connection);
  await Promise.all(Object.values(streams).map((name) => ensureStream(jsm, { name, replicas })));
  const kvm = new Kvm(js);
  const objm = new Objm(js);
  const [registry, definitions, keys, settings, leases, claims, results] = await Promise.all([
    kvm.create(buckets.registry, { replicas, history: 1 }),
    kvm.create(buckets.definitions, { replicas, history: 1 }),
    kvm.create(buckets.keys, { replicas, history: 1 }),
    kvm.create(buckets.settings, { replicas, history: 1 }),
    kvm.create(buckets.leases, { replicas, history: 1, ttl: leaseTtlMs }),
    objm.create(buckets.claims, { replicas }),
    objm.create(buckets.results, { replicas }),
  ]);
  const partitions = await pinPartitions(settings, options.partitions);
  return { jsm, partitions, registry, definitions, keys, settings, leases, claims, results };
}

async function ensureStream(
  jsm: JetStreamManager,
  stream: { name: keyof typeof streamSubjects; replicas: number },
): Promise<void> {
  const config: Partial<StreamConfig> & { name: string } = {
    name: stream.name,
    subjects: [streamSubjects[stream.name]],
    storage: StorageType.File,
    num_replicas: stream.replicas,
    retention: stream.name === streams.runs ? RetentionPolicy.Limits : RetentionPolicy.Workqueue,
    allow_direct: true,
  };
  try {
    await jsm.streams.info(stream.name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === streamNotFound)) throw error;
    await jsm.streams.add(config);
  }
}

/** Gives every stream this many copies, and tells which had others. Throws what the server says where it has too few servers. */
export async function setCopies(jsm: JetStreamManager, replicas: number): Promise<string[]> {
  const changed: string[] = [];
  for (const name of allStreams) {
    const { config } = await jsm.streams.info(name);
    if (config.num_replicas === replicas) continue;
    await jsm.streams.update(name, { num_replicas: replicas });
    changed.push(name);
  }
  return changed;
}

async function pinPartitions(settings: KV, wanted: number | undefined): Promise<number> {
  const key = 'partitions';
  const read = async () => {
    const entry = await settings.get(key);
    return entry ? Number(entry.string()) : undefined;
  };
  let pinned = await read();
  if (pinned === undefined) {
    await settings.create(key, String(wanted ?? partitionsDefault)).catch(() => undefined);
    pinned = await read();
  }
  if (!pinned) throw new UnavailableError('the number of partitions could not be read from NATS');
  if (wanted !== undefined && wanted !== pinned) {
    throw new TypeError(
      `PAWL_PARTITIONS is ${wanted}, but the run log on this NATS server was made with ${pinned} partitions. ` +
        `Set PAWL_PARTITIONS=${pinned}, or leave it unset.`,
    );
  }
  return pinned;
}
