/** A NATS server that a test can kill, freeze and start again on the same port with the same files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats, type NatsServer } from '@pawl/devstack';

export type BreakableNats = {
  url: string;
  /** As `kill -9` would; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again after `kill`; with `empty`, without anything that it had stored. */
  restart(options?: { empty?: boolean }): Promise<void>;
  /** Keeps its connections and answers nothing until `resume`. */
  freeze(): void;
  resume(): void;
  stop(): Promise<void>;
};

/** Always a private local process, since a container can't be broken in these ways. */
export async function startBreakableNats(): Promise<BreakableNats> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pawl-nats-'));
  let server: NatsServer = await startNats({ dataDir, durable: false });
  const { url, port } = server;
  const signal = (name: NodeJS.Signals) => void (server.pid && process.kill(server.pid, name));
  return {
    url,
    async kill() {
      server.kill();
      await server.exited;
    },
    async restart({ empty = false } = {}) {
      if (empty) await rm(join(dataDir, 'jetstream'), { recursive: true, force: true });
      server = await startNats({ dataDir, port, durable: false });
    },
    freeze: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async stop() {
      signal('SIGCONT');
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
