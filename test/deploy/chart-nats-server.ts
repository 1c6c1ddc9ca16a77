/** A real nats-server with a user for each service, whose permissions are those that the chart ships. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureNatsServer, freePort, startChild } from '@pawl/devstack';
import type { NatsPermissions, NatsUser } from '@pawl/contracts';
import { eventually } from '@pawl/testkit';

const usersFile = fileURLToPath(new URL('../../deploy/chart/files/nats-users.json', import.meta.url));

export type GuardedNats = {
  url: string;
  /** What a service's environment needs to connect as its user. */
  environmentOf(user: NatsUser): Record<string, string>;
  /** Lines of the server's log about what it refused. */
  refusals(): Promise<string[]>;
  stop(): Promise<void>;
};

export async function startGuardedNats(options: { toolSubjects: string[]; more?: string }): Promise<GuardedNats> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-nats-'));
  const port = await freePort();
  const logFile = join(folder, 'server.log');
  const configFile = join(folder, 'nats.conf');
  const permissions = JSON.parse(await readFile(usersFile, 'utf8')) as Record<NatsUser, NatsPermissions>;
  const users = Object.entries(permissions).map(([user, { publish, subscribe }]) => ({
    user: `pawl-${user}`,
    password: `secret-${user}`,
    permissions: {
      publish: { allow: [...publish, ...(user === 'tool-runner' ? options.toolSubjects : [])] },
      subscribe: { allow: subscribe },
    },
  }));
  const worker = { user: 'worker', password: 'secret-worker', permissions: { publish: '>', subscribe: '>' } };
  await writeFile(
    configFile,
    [
      `listen: "127.0.0.1:${port}"`,
      `jetstream { store_dir: ${JSON.stringify(folder)} }`,
      `authorization: ${JSON.stringify({ users: [...users, worker] })}`,
      options.more ?? '',
    ].join('\n'),
  );
  const child = startChild({ command: await ensureNatsServer(), args: ['-c', configFile], logFile });
  const log = async () => (await readFile(logFile, 'utf8').catch(() => '')).split('\n');
  const isUp = async () => (await log()).some((line) => line.includes('Server is ready'));
  await eventually(isUp, { withinMs: 30_000, what: 'nats-server is ready' });
  return {
    url: `nats://127.0.0.1:${port}`,
    environmentOf: (user) => ({ PAWL_NATS_USER: `pawl-${user}`, PAWL_NATS_PASSWORD: `secret-${user}` }),
    refusals: async () => (await log()).filter((line) => /violation/i.test(line)),
    async stop() {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
