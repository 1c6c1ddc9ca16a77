/**
 * What answers at a service's address before the service itself does: it is alive, it is not ready, and this is what it
 * waits for. So a probe never ends a process that only waits, for example for the migrations of its schema.
 */
import { createServer, type ServerResponse } from 'node:http';
import { problem } from '@pawl/contracts';

export type StartingServer = {
  /** What readiness tells from now on. */
  waitFor(what: string): void;
  /** Gives the address free. */
  close(): Promise<void>;
};

/** Listens; rejects where the address is taken. */
export async function serveStarting(address: { host: string; port: number }): Promise<StartingServer> {
  let waitingFor = 'NATS and Postgres';
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/healthz/live') return answer(response, 200, { status: 'ok' });
    if (path === '/healthz/ready') return answer(response, 503, { status: 'starting', waitingFor });
    return answer(response, 503, problem('unavailable', `the service is starting: ${waitingFor}`));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return {
    waitFor: (what) => void (waitingFor = what),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  const type = 'code' in body ? 'application/problem+json' : 'application/json';
  response.writeHead(status, {
    'content-type': type,
    connection: 'close',
    ...(status === 503 && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify(body));
}
