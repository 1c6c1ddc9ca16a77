import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const hooks = new URL('fixtures/signal-on-load.ts', import.meta.url).href;
/** Enough to start with, and then to wait for. */
const environment = {
  PATH: process.env['PATH'] ?? '',
  PAWL_NATS_URL: 'nats://127.0.0.1:1',
  PAWL_DATABASE_URL: 'postgres://127.0.0.1:1/none',
  PAWL_HOST: '127.0.0.1',
  PAWL_PORT: '0',
};
const mainOf = (service: string) => fileURLToPath(new URL(`../../../services/${service}/src/main.ts`, import.meta.url));

test.for(['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store'])(
  'a signal to the %s while it loads its first library ends it, also where signals have no default',
  async (service) => {
    const args = ['--import', hooks, mainOf(service)];
    const child = spawn(process.execPath, args, { env: environment, stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    // Ended by its own listener. By the default, which the first process of a container lacks, it would be the name of the signal.
    expect(await once(child, 'exit')).toEqual([0, null]);
  },
);
