/** An HTTP server that plays the tools of a test: quick, slow, flaky, behind a failing gateway, or never answering. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Hit = { path: string; key: string | undefined };

export type ToolPeer = {
  url: string;
  /** Requests since the last `reset`, with the key of their effect. */
  hits: Hit[];
  /** Answers of `/hold`, which are never sent. */
  held: ServerResponse[];
  /** How many callers hung up before they had an answer. */
  hungUp(): number;
  reset(): void;
  stop(): Promise<void>;
};

const slowMs = 300;

/** Ten pieces with pauses between them, then the end. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  let pieces = 0;
  const timer = setInterval(() => {
    pieces += 1;
    response.write('drop ');
    if (pieces < 10) return;
    clearInterval(timer);
    response.end();
  }, dripEveryMs);
  response.on('close', () => clearInterval(timer));
}

const dripEveryMs = 200;

export async function startToolPeer(): Promise<ToolPeer> {
  const hits: Hit[] = [];
  const held: ServerResponse[] = [];
  let hungUp = 0;
  const statusOf = (path: string) => {
    if (path.startsWith('/gateway')) return 504;
    if (path.startsWith('/gone')) return 404;
    const isFirst = hits.filter((hit) => hit.path === path).length === 1;
    return path.startsWith('/flaky') && isFirst ? 503 : 200;
  };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    hits.push({ path, key: request.headers['idempotency-key']?.toString() });
    response.on('close', () => (hungUp += response.writableFinished ? 0 : 1));
    if (path.startsWith('/reset')) return void request.socket.destroy();
    if (path.startsWith('/drip')) return drip(response);
    if (path.startsWith('/hold')) {
      held.push(response);
      return;
    }
    response.writeHead(statusOf(path), { 'content-type': 'application/json' });
    setTimeout(() => response.end('{"id":9007199254740993}'), path.startsWith('/slow') ? slowMs : 0);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hits,
    held,
    hungUp: () => hungUp,
    reset() {
      hits.splice(0);
      held.splice(0);
      hungUp = 0;
    },
    async stop() {
      if (!server.listening) return;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
