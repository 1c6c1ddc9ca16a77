/**
 * Ports on the loopback addresses. A port found free here can be taken by someone else a moment later, so callers retry.
 */
import { createServer } from 'node:net';
import { once } from 'node:events';

/** Whether a server could listen on this port of 127.0.0.1 now. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

/** `preferred` when it is free, else any free port of 127.0.0.1. */
export async function freePort(preferred?: number): Promise<number> {
  const port = (preferred === undefined ? undefined : await listenOnce(preferred)) ?? (await listenOnce(0));
  if (port === undefined) throw new Error('The system has no free port on 127.0.0.1.');
  return port;
}

async function listenOnce(port: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1' });
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
