/** The programs that the chart's Jobs and its test run, on real servers and services: safe to repeat, and clear about what is wrong. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { adminKey } from '../system/api.ts';
import { startStack, type Stack } from '../system/stack.ts';

// Programs are started one after the other, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
const servers = useTestServers();
let stack: Stack;
let folder = '';
let urls: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-objects-'));
  await run('setup', { PAWL_APPS: 'demo, shop', PAWL_POOLS: 'default,heavy', PAWL_PARTITIONS: '3' });
  stack = await startStack({ servers, models: { scripted: { respond: () => ({ answer: 'Yes.' }) } } });
  urls = {
    PAWL_ORCHESTRATOR_URL: stack.urls.orchestrator,
    PAWL_TOOL_RUNNER_URL: stack.urls.toolRunner,
    PAWL_LLM_GATEWAY_URL: stack.urls.llmGateway,
    PAWL_TRACE_STORE_URL: stack.urls.traceStore,
    PAWL_ADMIN_KEY: adminKey,
    PAWL_OBJECTS_DIR: folder,
  };
}, 120_000);
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs one of the orchestrator's programs to its end. */
async function run(program: string, environment: Record<string, string>): Promise<{ code: number; text: string }> {
  const script = join(root, `services/orchestrator/src/${program}.ts`);
  const env = { PATH: process.env['PATH'], PAWL_NATS_URL: servers.natsUrl, ...environment };
  return await new Promise((resolve) => {
    execFile(process.execPath, [script], { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

async function consumersOf(stream: string): Promise<string[]> {
  const connection = await connect({ servers: servers.natsUrl });
  const manager = await jetstreamManager(connection);
  const names: string[] = [];
  for await (const { name } of manager.consumers.list(stream)) names.push(name);
  await connection.close();
  return names.toSorted((a, b) => (a < b ? -1 : 1));
}

describe('setup', () => {
  const queues = ['act-default-demo', 'act-default-shop', 'act-heavy-demo', 'act-heavy-shop'];

  test('makes the queues of the apps, with the names under which scalers watch them; again, it changes nothing', async () => {
    const again = await run('setup', { PAWL_APPS: 'demo,shop', PAWL_POOLS: 'default,heavy' });
    expect(again).toMatchObject({ code: 0, text: expect.stringContaining('with 3 partitions') });
    for (const name of queues) expect(again.text).toContain(`queue ${name}`);
    expect(await consumersOf('ACT')).toEqual(queues);
    expect(await consumersOf('THINK')).toEqual([
      'think-batch-demo',
      'think-batch-shop',
      'think-interactive-demo',
      'think-interactive-shop',
    ]);
  });

  test('says what is wrong', async () => {
    expect(await run('setup', { PAWL_APPS: 'Not A Name' })).toMatchObject({
      code: 1,
      text: expect.stringContaining('PAWL_APPS.0 is wrong'),
    });
    expect(await run('setup', { PAWL_PARTITIONS: '4' })).toMatchObject({
      code: 1,
      text: expect.stringContaining('was made with 3 partitions'),
    });
  });
});

describe('apply-objects', () => {
  const agent = (name: string, more = '') =>
    `apiVersion: pawl.dev/v1\nkind: Agent\nmetadata: { app: demo, name: ${name} }\n` +
    `spec: { instructions: Say yes., models: { think: smart, conclude: smart }${more} }\n`;
  const tool =
    'apiVersion: pawl.dev/v1\nkind: Tool\nmetadata: { app: demo, name: count }\n' +
    'spec: { description: Counts., builtin: { name: calculator }, parameters: { type: object, ' +
    'properties: { expression: { type: string } } } }\n';

  test('declares what lies in folders, what others name first, as a mounted ConfigMap holds it; again, the same', async () => {
    await mkdir(join(folder, '0/..data'), { recursive: true });
    await writeFile(join(folder, '0/objects.yaml'), `---\n${agent('helper', ', tools: [count]')}---\n${tool}`);
    await writeFile(join(folder, '0/..data/objects.yaml'), 'not: read');
    await writeFile(join(folder, '0/readme.txt'), 'not read');
    const first = await run('apply-objects', urls);
    expect(first).toMatchObject({ code: 0, text: expect.stringMatching(/demo: Tool count .*\ndemo: Agent helper /) });
    expect((await run('apply-objects', urls)).text).toBe(first.text);
    const { body } = await stack.api.run({ agent: 'helper', input: 'Yes?' });
    expect(body).toMatchObject({ stopReason: 'final_answer', answer: 'Yes.' });
  });

  test('declares what the example values bring', async () => {
    const file = join(root, 'deploy/chart/examples/small.yaml');
    const { objects } = parse(await readFile(file, 'utf8')) as { objects: { inline: object[] } };
    expect(objects.inline.length).toBeGreaterThan(1);
    const place = join(folder, 'small');
    await mkdir(place);
    await writeFile(
      join(place, 'objects.json'),
      objects.inline.map((object) => JSON.stringify(object)).join('\n---\n'),
    );
    const { code, text } = await run('apply-objects', { ...urls, PAWL_OBJECTS_DIR: place });
    expect([code, text]).toEqual([0, expect.stringMatching(/ModelRoute smart .*\ndemo: Agent helper/)]);
    await rm(place, { recursive: true });
  });

  test('sends nothing when one file has a mistake, and says which', async () => {
    await writeFile(join(folder, 'a.yaml'), agent('never'));
    await writeFile(join(folder, 'b.yaml'), agent('wrong', ', limits: { steps: -1 }'));
    expect(await run('apply-objects', urls)).toMatchObject({
      code: 1,
      text: expect.stringMatching(/b\.yaml, document 1 is not a valid object[^]*steps/),
    });
    const url = `${stack.urls.orchestrator}/v1/agents/never`;
    expect((await stack.api.send('GET', url)).status).toBe(404);
    await Promise.all(['a.yaml', 'b.yaml'].map((name) => rm(join(folder, name))));
  });

  test('tells why a service refuses, and that one is not there', async () => {
    expect(await run('apply-objects', { ...urls, PAWL_ADMIN_KEY: 'guess' })).toMatchObject({
      code: 1,
      text: expect.stringContaining('Tool count of app demo was refused: unauthorized'),
    });
    const away = { PAWL_TOOL_RUNNER_URL: 'http://127.0.0.1:1', PAWL_APPLY_WAIT_S: '0' };
    expect(await run('apply-objects', { ...urls, ...away })).toMatchObject({
      code: 1,
      text: expect.stringContaining('http://127.0.0.1:1 was not ready within 0 s'),
    });
  });
});

test('check-services: an installation that works, another key, a service that is away', async () => {
  expect(await run('check-services', urls)).toMatchObject({ code: 0, text: expect.stringContaining('Pawl is ready.') });
  expect(await run('check-services', { ...urls, PAWL_ADMIN_KEY: 'guess' })).toMatchObject({
    code: 1,
    text: expect.stringContaining('refuses the admin key'),
  });
  expect(await run('check-services', { ...urls, PAWL_TRACE_STORE_URL: 'http://127.0.0.1:1' })).toMatchObject({
    code: 1,
    text: expect.stringMatching(/127\.0\.0\.1:1 does not answer[^]*Pawl is not ready/),
  });
});
