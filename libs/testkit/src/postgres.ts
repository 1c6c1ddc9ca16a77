/** One Postgres for a whole test run, and in it a database of its own for each test that asks. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '@pawl/devstack';
import { GenericContainer, Wait } from 'testcontainers';
import { startDependency, testEnvironment, type TestServer } from './dependency.ts';

/** Starts the server of a test run. */
export async function startTestPostgres(): Promise<TestServer> {
  const { databaseUrl, postgresImage } = testEnvironment();
  return await startDependency({
    name: 'Postgres',
    givenUrl: databaseUrl,
    async fromContainer() {
      const container = await new GenericContainer(postgresImage)
        .withEnvironment({ POSTGRES_PASSWORD: 'pawl' })
        .withExposedPorts(5432)
        .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
        .start();
      const url = `postgres://postgres:pawl@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
      return { url, stop: async () => void (await container.stop()) };
    },
    async fromProcess() {
      const dataDir = await mkdtemp(join(tmpdir(), 'pawl-postgres-'));
      const server = await startPostgres({ dataDir, durable: false });
      const stop = async () => {
        await server.stop({ remove: true });
        await rm(dataDir, { recursive: true, force: true });
      };
      return { url: server.url, stop };
    },
  });
}

/** Makes an empty database on a server; `drop` ends what is connected to it. */
export async function createTestDatabase(serverUrl: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `pawl_test_${randomBytes(6).toString('hex')}`;
  await run(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => run(serverUrl, `drop database if exists ${name} with (force)`) };
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
