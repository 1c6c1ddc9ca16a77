import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

const hooks = new URL('fixtures/signal-on-load.ts', import.meta.url).href;
/** Takes connections and says nothing, so that whoever asks it waits. */
const silent = createServer();
let environment: Record<string, string>;
beforeAll(async () => {
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const services = ['ORCHESTRATOR', 'TOOL_RUNNER', 'LLM_GATEWAY', 'TRACE_STORE'];
  environment = {
    PATH: process.env['PATH'] ?? '',
    PAWL_NATS_URL: `nats://${host}`,
    PAWL_DATABASE_URL: `postgres://${host}/none`,
    PAWL_HOST: '127.0.0.1',
    PAWL_PORT: '0',
    PAWL_ADMIN_KEY: 'key',
    PAWL_OBJECTS_DIR: fileURLToPath(new URL('fixtures/', import.meta.url)),
    ...Object.fromEntries(services.map((service) => [`PAWL_${service}_URL`, `http://${host}`])),
  };
});
afterAll(() => void silent.close());
const fileOf = (path: string) => fileURLToPath(new URL(`../../../services/${path}`, import.meta.url));

test.for(['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store'])(
  'a signal to the %s while it loads its first library ends it, also where signals have no default',
  async (service) => {
    // Ended by its own listener. By the default, which the first process of a container lacks, it would be the name of the signal.
    expect(await endOf(`${service}/src/main.ts`)).toEqual([0, null]);
  },
);

test.for([
  ...['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store'].map((service) => `${service}/src/migrate.ts`),
  ...['setup', 'apply-objects', 'check-services'].map((job) => `orchestrator/src/${job}.ts`),
  'trace-store/src/leak-scan.ts',
])('a signal to the job %s while it loads ends it as unfinished', async (job) => {
  expect(await endOf(job)).toEqual([143, null]);
});

async function endOf(path: string): Promise<unknown[]> {
  const child = spawn(process.execPath, ['--import', hooks, fileOf(path)], { env: environment, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return await once(child, 'exit');
}
