/** A TCP proxy in front of a server, which a test can take away and bring back. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type BreakableProxy = {
  port: number;
  /** Cuts every connection and refuses new ones. */
  cut(): void;
  mend(): void;
  /** Connections refused since the last cut. */
  refused(): number;
  stop(): Promise<void>;
};

export async function startProxy(target: { host: string; port: number }): Promise<BreakableProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let refused = 0;
  const server = createServer((client) => {
    if (isCut) {
      refused += 1;
      client.destroy();
      return;
    }
    const upstream = connect(target);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const cutAll = () => sockets.forEach((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      refused = 0;
      cutAll();
    },
    mend: () => void (isCut = false),
    refused: () => refused,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
