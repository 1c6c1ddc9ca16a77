/** From a trial to a cluster: the setup Job gives every stream the copies that the values ask for, on three real servers. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { allStreams } from '@pawl/contracts';
import { ensureNatsServer, freePort, startChild, type Child } from '@pawl/devstack';
import { eventually } from '@pawl/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const children: Child[] = [];
let folder = '';
let url = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-cluster-'));
  const program = await ensureNatsServer();
  const ports = await Promise.all(Array.from({ length: 6 }, () => freePort()));
  const [clients, routes] = [ports.slice(0, 3), ports.slice(3)];
  const logs = clients.map((_port, index) => join(folder, `n${index}.log`));
  for (const [index, port] of clients.entries()) {
    const configFile = join(folder, `n${index}.conf`);
    const others = routes.map((route) => `nats://127.0.0.1:${route}`).join(', ');
    await writeFile(
      configFile,
      `server_name: n${index}\nlisten: "127.0.0.1:${port}"\n` +
        `jetstream { store_dir: ${JSON.stringify(join(folder, `n${index}`))} }\n` +
        `cluster { name: test, listen: "127.0.0.1:${routes[index]}", routes: [${others}] }\n`,
    );
    children.push(startChild({ command: program, args: ['-c', configFile], logFile: logs[index] ?? '' }));
  }
  url = clients.map((port) => `nats://127.0.0.1:${port}`).join(',');
  const hasLeader = async () =>
    (await Promise.all(logs.map((log) => readFile(log, 'utf8').catch(() => '')))).some((text) =>
      text.includes('JetStream cluster new metadata leader'),
    );
  await eventually(hasLeader, { withinMs: 60_000, what: 'the cluster has a leader' });
}, 120_000);
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()));
  await rm(folder, { recursive: true, force: true });
});

async function setup(replicas: number): Promise<{ code: number; text: string }> {
  const env = { PATH: process.env['PATH'], PAWL_NATS_URL: url, PAWL_REPLICAS: String(replicas), PAWL_APPS: 'demo' };
  return await new Promise((resolve) => {
    const script = join(root, 'services/orchestrator/src/setup.ts');
    execFile(process.execPath, [script], { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, text: stdout + stderr }),
    );
  });
}

async function copies(): Promise<Record<string, number>> {
  const connection = await connect({ servers: url.split(',').map((each) => new URL(each).host) });
  const manager = await jetstreamManager(connection);
  const found: Record<string, number> = {};
  for await (const { config } of manager.streams.list()) found[config.name] = config.num_replicas;
  await connection.close();
  return found;
}

test('one copy, then three, then no change', { timeout: 120_000 }, async () => {
  const all = (count: number) => Object.fromEntries(allStreams.map((name) => [name, count]));
  expect(await setup(1)).toMatchObject({ code: 0 });
  expect(await copies()).toEqual(all(1));
  const grown = await setup(3);
  expect(grown).toMatchObject({ code: 0, text: expect.stringContaining('stream RUNS now has 3 copies') });
  expect(await copies()).toEqual(all(3));
  expect((await setup(3)).text).not.toContain('now has');
});
