/** A NATS server with JetStream for one test file, empty at the start. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { startNats } from '@pawl/devstack';
import { GenericContainer, Wait } from 'testcontainers';
import { startDependency, testEnvironment, type TestServer } from './dependency.ts';

/** Starts it. A server that was given by URL is emptied of every stream first, so never give one that is in use. */
export async function startTestNats(): Promise<TestServer> {
  const { natsUrl, natsImage } = testEnvironment();
  if (natsUrl) await removeStreams(natsUrl);
  return await startDependency({
    name: 'NATS',
    givenUrl: natsUrl,
    async fromContainer() {
      const container = await new GenericContainer(natsImage)
        .withCommand(['-js'])
        .withExposedPorts(4222)
        .withWaitStrategy(Wait.forLogMessage(/Server is ready/))
        .start();
      const url = `nats://${container.getHost()}:${container.getMappedPort(4222)}`;
      return { url, stop: async () => void (await container.stop()) };
    },
    async fromProcess() {
      const dataDir = await mkdtemp(join(tmpdir(), 'pawl-nats-'));
      const server = await startNats({ dataDir, durable: false });
      const stop = async () => {
        await server.stop();
        await rm(dataDir, { recursive: true, force: true });
      };
      return { url: server.url, stop };
    },
  });
}

async function removeStreams(url: string): Promise<void> {
  const connection = await connect({ servers: new URL(url).host });
  const manager = await jetstreamManager(connection);
  for await (const stream of manager.streams.list()) await manager.streams.delete(stream.config.name);
  await connection.close();
}
