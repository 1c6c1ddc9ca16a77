/** Asks a Postgres server to cancel what one of its connections is doing. Best effort: it never throws. */
import { connect } from 'node:net';

const cancelRequestCode = 80_877_102;
const patienceMs = 5_000;

export type BackendAddress = { host: string; port: number; processId: number; secretKey: number };

/** Sends a CancelRequest on a connection of its own, as the protocol wants it; resolved once the server closed that one. */
export function cancelStatement({ host, port, processId, secretKey }: BackendAddress): Promise<void> {
  const message = Buffer.alloc(16);
  message.writeInt32BE(16, 0);
  message.writeInt32BE(cancelRequestCode, 4);
  message.writeInt32BE(processId, 8);
  message.writeInt32BE(secretKey, 12);
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('connect', () => socket.end(message));
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.resume();
  });
}
