/**
 * The connection to NATS with the streams and buckets that Pawl stands on.
 * It reconnects for ever; while it is away, publishing fails with `UnavailableError` and consumers wait.
 */
import { connect, type NatsConnection } from '@nats-io/transport-node';
import {
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type JetStreamClient,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import { Objm, type ObjectStore } from '@nats-io/obj';
import { buckets, streams, streamSubjects, UnavailableError } from '@pawl/contracts';

/** How long a partition's lease lives without being renewed. */
export const leaseTtlMs = 6_000;
const partitionsDefault = 8;

export type Bus = {
  connection: NatsConnection;
  js: JetStreamClient;
  jsm: JetStreamManager;
  /** How many partitions the run log has; the same for every process on this server. */
  partitions: number;
  registry: KV;
  definitions: KV;
  keys: KV;
  leases: KV;
  claims: ObjectStore;
  results: ObjectStore;
  isConnected(): boolean;
  close(): Promise<void>;
};

export type BusOptions = {
  /** `nats://host:port`, with user and password where the server asks for them; several by comma. */
  url: string;
  /** The connection's name, as the server shows it. */
  name: string;
  /** Partitions of the run log, used by the first process that ever connects. Default 8. */
  partitions?: number | undefined;
  /** Copies of each stream on a cluster. Default 1. */
  replicas?: number | undefined;
};

/** Connects and makes what is missing; safe to repeat and to run in several processes at once. */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const connection = await connect({
    ...serversOf(options.url),
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    waitOnFirstConnect: true,
    pingInterval: 10_000,
  });
  let isConnected = true;
  void followStatus(connection, (value) => (isConnected = value));
  const js = jetstream(connection);
  const jsm = await jetstreamManager(connection);
  const replicas = options.replicas ?? 1;
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
  const close = () => connection.drain().catch(() => connection.close());
  return {
    connection,
    js,
    jsm,
    partitions,
    registry,
    definitions,
    keys,
    leases,
    claims,
    results,
    isConnected: () => isConnected,
    close,
  };
}

function serversOf(url: string): { servers: string[]; user?: string; pass?: string } {
  const parsed = new URL(url.split(',')[0] ?? url);
  const servers = url.split(',').map((server) => new URL(server).host);
  if (!parsed.username) return { servers };
  return { servers, user: decodeURIComponent(parsed.username), pass: decodeURIComponent(parsed.password) };
}

async function followStatus(connection: NatsConnection, set: (isConnected: boolean) => void): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect' || status.type === 'close') set(false);
    if (status.type === 'reconnect') set(true);
  }
  set(false);
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
  } catch {
    await jsm.streams.add(config);
  }
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
