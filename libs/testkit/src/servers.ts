/** What an integration test stands on: its own NATS server and its own database, both gone when it ends. */
import { afterAll, beforeAll, inject } from 'vitest';
import { startTestNats } from './nats.ts';
import { createTestDatabase } from './postgres.ts';

/** The URLs of the servers of one test file. */
export type TestServers = { natsUrl: string; databaseUrl: string };

/** Starts both before the tests of a file and ends them after; read the URLs inside tests or hooks only. */
export function useTestServers(): TestServers {
  const servers: TestServers = { natsUrl: '', databaseUrl: '' };
  const undo: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const [nats, database] = await Promise.all([startTestNats(), createTestDatabase(inject('postgresUrl'))]);
    undo.push(nats.stop, database.drop);
    servers.natsUrl = nats.url;
    servers.databaseUrl = database.url;
  });
  afterAll(async () => {
    await Promise.all(undo.map((stop) => stop()));
  });
  return servers;
}
