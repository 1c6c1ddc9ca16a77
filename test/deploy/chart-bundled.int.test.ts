/** The bundled NATS server starts with the configuration that the chart renders, and lets in whom it names, with their rights. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { connectBus } from '@pawl/bus';
import { natsPermissions, type NatsUser } from '@pawl/contracts';
import { ensureNatsServer, freePort, startChild, type Child } from '@pawl/devstack';
import { eventually } from '@pawl/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bundled, containersOfPod, ofKind, useRenderings } from './chart-renderings.ts';
import { render } from './chart-tools.ts';

// Programs are started one after the other, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const renderings = useRenderings();
const users = Object.keys(natsPermissions()) as NatsUser[];
let folder = '';
let child: Child | undefined;
let url = '';

beforeAll(async () => {
  if (renderings.helm === undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'pawl-bundled-'));
  const objects = await render(renderings.helm, { values: { ...bundled, 'nats.toolSubjects': ['tools.{app}.>'] } });
  const rendered = ofKind(objects, 'ConfigMap').find(({ metadata }) => metadata.name === 'pawl-nats')?.data ?? {};
  const [port, monitorPort] = [await freePort(), await freePort()];
  url = `nats://127.0.0.1:${port}`;
  const text = (rendered['nats.conf'] ?? '')
    .replace('0.0.0.0:4222', `127.0.0.1:${port}`)
    .replace('0.0.0.0:8222', `127.0.0.1:${monitorPort}`)
    .replace('/data', folder)
    // Servers before 2.10 don't know it.
    .replace('sync_interval: always', '');
  const configFile = join(folder, 'nats.conf');
  await writeFile(configFile, text);
  const [container] = containersOfPod(objects, 'StatefulSet pawl-nats');
  const variables = (container?.env ?? []).map(({ name, valueFrom }) => [
    name,
    `p-${valueFrom?.secretKeyRef?.key ?? 'pod'}`,
  ]);
  const logFile = join(folder, 'server.log');
  const env = { ...process.env, ...Object.fromEntries(variables) };
  child = startChild({ command: await ensureNatsServer(), args: ['-c', configFile], env, logFile });
  const isReady = async () => (await readFile(logFile, 'utf8').catch(() => '')).includes('Server is ready');
  await eventually(isReady, { withinMs: 30_000, what: 'the server starts with the rendered configuration' });
}, 120_000);
afterAll(async () => {
  await child?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('each user comes in with its password, and finds what setup has made', async () => {
  for (const user of ['setup', ...users.filter((each) => each !== 'setup')]) {
    const bus = await connectBus({ url, name: user, user: `pawl-${user}`, password: `p-nats-${user}` });
    expect(bus.partitions).toBe(8);
    await bus.close();
  }
});

test('nobody comes in without, or with the password of another', async () => {
  const attempts = [{}, { user: 'pawl-setup', pass: 'p-nats-orchestrator' }];
  for (const attempt of attempts) {
    await expect(connect({ servers: url, ...attempt })).rejects.toThrow(/authorization violation/i);
  }
});

test('the tool-runner may use the subjects of tools, any app in the place of {app}', async () => {
  const connection = await connect({ servers: url, user: 'pawl-tool-runner', pass: 'p-nats-tool-runner' });
  const refusals: string[] = [];
  void (async () => {
    for await (const status of connection.status()) if (status.type === 'error') refusals.push(String(status.error));
  })();
  connection.publish('tools.demo.weather', '');
  connection.publish('elsewhere.demo', '');
  await connection.flush();
  await eventually(() => refusals.length > 0, { what: 'the other subject is refused' });
  expect(refusals).toEqual([expect.stringContaining('elsewhere.demo')]);
  await connection.close();
});
