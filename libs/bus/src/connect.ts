/**
 * The connection to NATS. It reconnects for ever; while it is away, publishing fails with `UnavailableError` and
 * consumers wait. After each reconnection it makes sure that streams and buckets are there, then tells who wants to know.
 */
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { jetstream, type JetStreamClient } from '@nats-io/jetstream';
import { pause, withPatience } from './failures.ts';
import { ensureLayout, type Layout } from './layout.ts';

/** How long to wait at the start for a JetStream that is still coming up. */
const startPatienceMs = 60_000;
const closeWithinMs = 2_000;

export type Bus = Layout & {
  connection: NatsConnection;
  js: JetStreamClient;
  isConnected(): boolean;
  /** Calls back after each reconnection, when streams and buckets are there; returns how to end it. */
  onReconnect(listener: () => void): () => void;
  /** Sends what is pending, then closes; without a server it closes after 2 s at the latest. */
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
  const js = jetstream(connection);
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

function serversOf(url: string): { servers: string[]; user?: string; pass?: string } {
  const parsed = new URL(url.split(',')[0] ?? url);
  const servers = url.split(',').map((server) => new URL(server).host);
  if (!parsed.username) return { servers };
  return { servers, user: decodeURIComponent(parsed.username), pass: decodeURIComponent(parsed.password) };
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
