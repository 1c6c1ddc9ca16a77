/**
 * The containers that the testkit takes where a Docker daemon answers, here Podman's socket: both servers start, can be used
 * as tests use them, and are gone afterwards.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connectBus } from '@pawl/bus';
import { connectDatabase, migrate } from '@pawl/db';
import { schema } from '@pawl/trace-store/schema';
import { createTestDatabase, eventually, hasTimeForPeers, startTestNats, startTestPostgres } from '@pawl/testkit';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openContainerEngine, whyNoContainers, type ContainerEngine } from './images/container-engine.ts';
import { makeServerImages, natsImage, postgresImage } from './images/server-images.ts';

let reason: string | undefined;
let engine: ContainerEngine;
let daemon: ChildProcess;

beforeAll(async () => {
  reason = hasTimeForPeers() ? await whyNoContainers() : 'making images of servers takes a minute: npm run test:full';
  if (reason !== undefined) return;
  engine = await openContainerEngine();
  await makeServerImages(engine);
  const socket = join(engine.folder, 'podman.sock');
  const service = ['system', 'service', '--time', '0', `unix://${socket}`];
  daemon = spawn('podman', service, { env: engine.environment, stdio: 'ignore' });
  await eventually(() => existsSync(socket), { withinMs: 30_000, what: 'Podman listens' });
  vi.stubEnv('DOCKER_HOST', `unix://${socket}`);
  vi.stubEnv('PAWL_TEST_NATS_IMAGE', natsImage);
  vi.stubEnv('PAWL_TEST_POSTGRES_IMAGE', postgresImage);
  vi.stubEnv('PAWL_TEST_NATS_URL', undefined);
  vi.stubEnv('PAWL_TEST_DATABASE_URL', undefined);
  // It would be another image that can't be fetched. What a killed test leaves behind goes with the engine's storage.
  vi.stubEnv('TESTCONTAINERS_RYUK_DISABLED', 'true');
}, 600_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  daemon?.kill();
  await engine?.close();
}, 120_000);
beforeEach((context) => {
  if (reason !== undefined) context.skip(reason);
});

async function runningImages(): Promise<string[]> {
  const { stdout } = await engine.podman('ps', '--format', '{{.Image}}');
  return stdout.split('\n').filter(Boolean);
}

test('Postgres comes out of a container: a database of its own, migrated, and gone', { timeout: 120_000 }, async () => {
  const server = await startTestPostgres();
  expect(await runningImages()).toEqual([expect.stringContaining(postgresImage)]);
  const { url, drop } = await createTestDatabase(server.url);
  expect(await migrate({ url, ...schema })).not.toEqual([]);
  const database = connectDatabase({ url, applicationName: 'test' });
  const rows = await database.query<{ server: string }>(`select current_setting('server_version') as server`);
  expect(rows[0]?.server).toMatch(/Debian/);
  await database.close();
  await drop();
  await server.stop();
  expect(await runningImages()).toEqual([]);
});

test('NATS comes out of a container: streams and buckets are made, and it is gone', { timeout: 120_000 }, async () => {
  const server = await startTestNats();
  expect(await runningImages()).toEqual([expect.stringContaining(natsImage)]);
  const bus = await connectBus({ url: server.url, name: 'test' });
  expect((await bus.jsm.streams.info('RUNS')).state.messages).toBe(0);
  await bus.close();
  await server.stop();
  expect(await runningImages()).toEqual([]);
});
