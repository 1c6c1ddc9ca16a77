/**
 * What a Service of Kubernetes does with connections: each new one goes to the next replica that says it is ready, and then
 * stays there; nothing is tried again.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const askEveryMs = 100;

export type Balancer = {
  url: string;
  add(replicaUrl: string): void;
  /** Replicas that would get a connection now. */
  ready(): string[];
  stop(): Promise<void>;
};

export async function startBalancer(): Promise<Balancer> {
  const replicas = new Map<string, boolean>();
  const sockets = new Set<Socket>();
  let turn = 0;
  const ready = () => [...replicas].filter(([, isReady]) => isReady).map(([url]) => url);
  const server = createServer((client) => {
    const candidates = ready();
    turn += 1;
    const target = candidates[turn % candidates.length];
    if (target === undefined) return client.destroy();
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => sockets.delete(socket));
      socket.pipe(other);
    }
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const asking = setInterval(() => {
    for (const url of replicas.keys()) {
      void fetch(`${url}/healthz/ready`, { headers: { connection: 'close' } })
        .then(({ ok }) => replicas.set(url, ok))
        .catch(() => replicas.set(url, false));
    }
  }, askEveryMs);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (url) => void replicas.set(url, replicas.get(url) ?? false),
    ready,
    async stop() {
      clearInterval(asking);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
