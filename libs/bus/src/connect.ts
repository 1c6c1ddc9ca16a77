/**
 * The connection to NATS. It reconnects for ever; while it is away, publishing fails with `UnavailableError` and
 * consumers wait. After each reconnection it makes sure that streams and buckets are there, then tells who wants to know.
 */
import { connect, createInbox, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node';
import { jetstream, type JetStreamClient } from '@nats-io/jetstream';
import { createPublishAcknowledged, type PublishAcknowledged } from './acknowledged.ts';
import { pause, withPatience } from './failures.ts';
import { ensureLayout, type Layout } from './layout.ts';

/** How long to wait at the start for a JetStream that is still coming up. */
const startPatienceMs = 60_000;
const closeWithinMs = 2_000;
const acknowledgedWithinMs = 3_000;

export type Bus = Layout & {
  connection: NatsConnection;
  js: JetStreamClient;
  /** One try of 3 s. Writes of facts and work go through `publishFact` and `publishWork`. */
  publishAcknowledged: PublishAcknowledged;
  /** An address for answers that this connection may listen to. */
  createInbox(): string;
  isConnected(): boolean;
  /** Calls back after each reconnection, when streams and buckets are there; returns how to end it. */
  onReconnect(listener: () => void): () => void;
  /** Sends what is pending, then closes; without a server it closes after 2 s at the latest. */
  close(): Promise<void>;
};

export type BusOptions = {
  /** `nats://host:port`, with user and password where the server asks for them; `tls://` asks for TLS; several by comma. */
  url: string;
  /** Instead of those in the URL. Answers then come to `_INBOX.<user>.`, so that users can be kept from each other's. */
  user?: string | undefined;
  password?: string | undefined;
  /** Whom to trust, and a certificate to show, as PEM files. Any of them asks for TLS. */
  tls?: { caFile?: string | undefined; certFile?: string | undefined; keyFile?: string | undefined } | undefined;
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
    ...accessOf(options),
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    waitOnFirstConnect: true,
    pingInterval: 10_000,
    // Else every request takes down two stacks, which costs as much as sending it.
    noAsyncTraces: true,
  });
  const js = jetstream(connection);
  const newInbox = () => createInbox(inboxPrefixOf(options));
  const listeners = new Set<() => void>();
  let isConnected = true;
  const ensure = (partitions: number | undefined, patienceMs: number) =>
    withPatience({ patienceMs, isConnected: () => isConnected, isClosed: () => connection.isClosed() }, () =>
      ensureLayout({ connection, js }, { partitions, replicas: options.replicas ?? 1 }),
    );
  const layout = await ensure(options.partitions, startPatienceMs).catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  void followStatus(connection, {
    onDisconnect: () => (isConnected = false),
    onReconnect() {
      isConnected = true;
      void ensure(layout.partitions, startPatienceMs)
        .catch(() => undefined)
        .then(() => listeners.forEach((listener) => listener()));
    },
  });
  return {
    ...layout,
    connection,
    js,
    publishAcknowledged: createPublishAcknowledged(connection, { inbox: newInbox(), timeoutMs: acknowledgedWithinMs }),
    createInbox: newInbox,
    isConnected: () => isConnected,
    onReconnect(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      if (isConnected) await Promise.race([connection.drain().catch(() => undefined), pause(closeWithinMs)]);
      await connection.close();
    },
  };
}

function accessOf(options: BusOptions): ConnectionOptions {
  const urls = options.url.split(',').map((server) => new URL(server));
  const [first] = urls;
  const user = options.user ?? decodeURIComponent(first?.username ?? '');
  const pass = options.password ?? decodeURIComponent(first?.password ?? '');
  const tls = Object.fromEntries(Object.entries(options.tls ?? {}).filter(([, file]) => file !== undefined));
  return {
    servers: urls.map(({ host }) => host),
    inboxPrefix: inboxPrefixOf(options),
    ...(user && { user, pass }),
    ...((first?.protocol === 'tls:' || Object.keys(tls).length > 0) && { tls }),
  };
}

function inboxPrefixOf({ user }: BusOptions): string {
  return user === undefined ? '_INBOX' : `_INBOX.${user}`;
}

async function followStatus(
  connection: NatsConnection,
  on: { onDisconnect(): void; onReconnect(): void },
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect' || status.type === 'close') on.onDisconnect();
    if (status.type === 'reconnect') on.onReconnect();
  }
  on.onDisconnect();
}
