/**
 * Where a test's server comes from: a URL that was given, else a container where a Docker daemon answers, else a private
 * local process. Chosen per dependency; what was chosen is told on standard error once.
 */
import { existsSync } from 'node:fs';
import { getContainerRuntimeClient } from 'testcontainers';

export type TestServer = { url: string; stop(): Promise<void> };

export type Dependency = {
  name: string;
  /** The URL that the environment gives, if any. */
  givenUrl: string | undefined;
  fromContainer(): Promise<TestServer>;
  fromProcess(): Promise<TestServer>;
};

/** Starts a dependency the best way that this machine offers. */
export async function startDependency(dependency: Dependency): Promise<TestServer> {
  if (dependency.givenUrl) return { url: dependency.givenUrl, stop: async () => {} };
  return (await hasDocker()) ? await dependency.fromContainer() : await dependency.fromProcess();
}

let docker: Promise<boolean> | undefined;

function hasDocker(): Promise<boolean> {
  docker ??= askDocker();
  return docker;
}

async function askDocker(): Promise<boolean> {
  const socket = testEnvironment().dockerHost ?? 'unix:///var/run/docker.sock';
  if (socket.startsWith('unix://') && !existsSync(socket.slice('unix://'.length))) return false;
  return await getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/** What the environment says about the servers that tests use. */
export function testEnvironment() {
  return {
    natsUrl: process.env['PAWL_TEST_NATS_URL'],
    databaseUrl: process.env['PAWL_TEST_DATABASE_URL'],
    dockerHost: process.env['DOCKER_HOST'],
    natsImage: process.env['PAWL_TEST_NATS_IMAGE'] ?? 'nats:2.12-alpine',
    postgresImage: process.env['PAWL_TEST_POSTGRES_IMAGE'] ?? 'postgres:18-alpine',
  };
}
