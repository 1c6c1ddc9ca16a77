/** Several gateways as processes of their own, on a Postgres that a test may stop and start again. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startChild, startPostgres, type Child, type PostgresServer } from '@pawl/devstack';
import { eventually } from '@pawl/testkit';

export const adminKey = 'chaos-admin-key';
const root = fileURLToPath(new URL('../..', import.meta.url));

export type Gateways = {
  urls: string[];
  databaseUrl: string;
  /** SIGKILL, without a goodbye. */
  kill(position: number): Promise<void>;
  stopPostgres(): Promise<void>;
  startPostgres(): Promise<void>;
  stop(): Promise<void>;
};

export async function startGateways(options: { natsUrl: string; count: number }): Promise<Gateways> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-chaos-'));
  const dataDir = join(folder, 'postgres');
  let postgres: PostgresServer = await startPostgres({ dataDir, durable: true });
  const { url: databaseUrl, port } = postgres;
  const spawn = (script: string, gatewayPort: number): Child =>
    startChild({
      command: process.execPath,
      args: [join(root, 'services/llm-gateway/src', script)],
      logFile: join(folder, `${script}-${gatewayPort}.log`),
      cwd: root,
      env: {
        PATH: process.env['PATH'] ?? '',
        PAWL_NATS_URL: options.natsUrl,
        PAWL_DATABASE_URL: databaseUrl,
        PAWL_PORT: String(gatewayPort),
        PAWL_HOST: '127.0.0.1',
        PAWL_ADMIN_KEY: adminKey,
        PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
        PAWL_LOG_LEVEL: 'error',
      },
    });
  const { code } = await spawn('migrate.ts', 0).exited;
  if (code !== 0) throw new Error(`the migration failed, see ${folder}`);
  const ports: number[] = [];
  for (let position = 0; position < options.count; position += 1) ports.push(await freePort(0));
  const children = ports.map((gatewayPort) => spawn('main.ts', gatewayPort));
  const urls = ports.map((gatewayPort) => `http://127.0.0.1:${gatewayPort}`);
  for (const url of urls) {
    const isReady = () => fetch(`${url}/healthz/ready`).then((response) => response.ok);
    await eventually(isReady, { withinMs: 60_000, what: `${url} gets ready, see ${folder}` });
  }
  return {
    urls,
    databaseUrl,
    async kill(position) {
      children[position]?.kill();
      await children[position]?.exited;
    },
    stopPostgres: async () => void (await postgres.stop()),
    async startPostgres() {
      postgres = await startPostgres({ dataDir, port, durable: true });
    },
    async stop() {
      await Promise.all(children.map((child) => child.stop()));
      await postgres.stop({ remove: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
