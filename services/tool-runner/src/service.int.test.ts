/** The whole tool-runner on real NATS and Postgres: from act work to the observed fact, and over HTTP. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  connectBus,
  connectKeys,
  createDefinitions,
  publishFact,
  publishWork,
  readFacts,
  type Bus,
  type Definitions,
} from '@pawl/bus';
import {
  fingerprint,
  fingerprintJson,
  sha256,
  toolSchema,
  type ActWork,
  type Definition,
  type Observed,
  type Tool,
} from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts, type Part } from '@pawl/service';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { loadConfig } from './config.ts';
import { effectKey } from './call/effect-key.ts';
import { claimEffect } from './effects/effect-store.ts';
import { schema } from './schema.ts';
import { createToolRunner } from './service.ts';

const servers = useTestServers();
const key = 'key-of-demo';

let bus: Bus;
let database: Database;
let definitions: Definitions;
let runner: { parts: Part[]; url(): string };
let peer: Server;
let peerUrl = '';
const hits: { path: string; key: string | undefined }[] = [];
const held: ServerResponse[] = [];
let closedByCaller = 0;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  definitions = createDefinitions(bus);
  const keys = await connectKeys(bus);
  await keys.put(sha256(key), { id: 'key_1', app: 'demo', scopes: ['registry'], expiresAt: null });
  keys.close();
  peer = createServer((request, response) => {
    const path = request.url ?? '';
    hits.push({ path, key: request.headers['idempotency-key']?.toString() });
    if (path.startsWith('/hold')) {
      held.push(response);
      response.on('close', () => (closedByCaller += response.writableFinished ? 0 : 1));
      return;
    }
    const status = path.startsWith('/flaky') && hits.filter((hit) => hit.path === path).length === 1 ? 503 : 200;
    const failed = path.startsWith('/gateway') ? 504 : status;
    const delayMs = path.startsWith('/slow') ? 300 : 0;
    setTimeout(
      () => response.writeHead(failed, { 'content-type': 'application/json' }).end('{"id":9007199254740993}'),
      delayMs,
    );
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  peerUrl = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  const config = loadConfig({
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
    PAWL_LOG_LEVEL: 'silent',
  });
  runner = await createToolRunner(config, createLog('tool-runner', 'silent'));
  await startParts(runner.parts);
});

beforeEach(() => {
  hits.splice(0);
  held.splice(0);
  closedByCaller = 0;
});

afterAll(async () => {
  peer.closeAllConnections();
  peer.close();
  await stopParts(runner.parts);
  await database.close();
  await bus.close();
});

function toolOf(name: string, spec: Record<string, unknown>): Tool {
  return toolSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Tool',
    metadata: { app: 'demo', name },
    spec: { description: 'A tool.', ...spec },
  });
}

const http = (path: string, method = 'GET') => ({ http: { method, url: `${peerUrl}${path}` } });

async function pin(tools: Tool[]): Promise<string> {
  const agent = {
    apiVersion: 'pawl.dev/v1',
    kind: 'Agent',
    metadata: { app: 'demo', name: 'tester' },
    spec: { instructions: 'Test.', models: { think: 'smart' } },
  } as const;
  const definition: Definition = {
    v: 1,
    agent: { revision: fingerprint(agent), object: agent },
    tools: tools.map((object) => ({ revision: fingerprint(object), object })),
  };
  return await definitions.put(definition);
}

function newRunId(): string {
  return `run_${randomUUID().replaceAll('-', '')}`;
}

async function workFor(tool: Tool, more: Partial<ActWork> = {}): Promise<ActWork> {
  const args = more.args ?? '{}';
  return {
    v: 1,
    kind: 'act',
    runId: newRunId(),
    app: 'demo',
    m: 0,
    i: 0,
    step: 1,
    callId: 'call_1',
    pool: 'default',
    tool: tool.metadata.name,
    toolRevision: fingerprint(tool),
    definition: await pin([tool]),
    args,
    argsHash: args.startsWith('{') && args.endsWith('}') ? fingerprintJson(args) : sha256(args),
    maxChars: 2_000,
    deadlineAt: new Date(Date.now() + 60_000).toISOString(),
    ...more,
  };
}

const ask = (work: ActWork) => publishWork(bus, work, newTraceContext());

async function observed(work: ActWork): Promise<Observed> {
  return await eventually(async () => {
    const facts = await readFacts(bus, work.app, work.runId);
    return facts
      .map(({ fact }) => fact)
      .find((fact): fact is Observed => fact.kind === 'observed' && fact.m === work.m && fact.i === work.i);
  });
}

async function observe(tool: Tool, more: Partial<ActWork> = {}): Promise<Observed> {
  const work = await workFor(tool, more);
  await ask(work);
  return await observed(work);
}

function cancelFact(runId: string) {
  return { v: 1, kind: 'cancel', runId, app: 'demo', at: new Date().toISOString(), by: 'test' } as const;
}

describe('act work', () => {
  test('becomes one observed fact with the very digits of the tool', async () => {
    const fact = await observe(toolOf('get', http('/ok')), { callId: 'call_7' });
    expect(fact).toMatchObject({ tool: 'get', callId: 'call_7', trust: 'untrusted', attempt: 1 });
    expect(fact.observation).toMatchObject({
      status: 'ok',
      data: '{"id":9007199254740993}',
      errorCode: null,
      ref: null,
    });
  });

  test('three slow calls of a thought run at once', async () => {
    const tool = toolOf('slow', http('/slow'));
    const first = await workFor(tool);
    const works = [0, 1, 2].map((i) => ({ ...first, i, callId: `call_${i}` }));
    const startedAt = performance.now();
    await Promise.all(works.map(ask));
    const facts = await Promise.all(works.map(observed));
    const tookMs = performance.now() - startedAt;
    expect(facts.map((fact) => fact.observation.status)).toEqual(['ok', 'ok', 'ok']);
    const starts = facts.map((fact) => Date.parse(fact.startedAt));
    const ends = facts.map((fact) => Date.parse(fact.startedAt) + fact.durationMs);
    expect(Math.max(...starts)).toBeLessThan(Math.min(...ends));
    expect(tookMs).toBeLessThan(900);
  });

  test.each<[string, Partial<ActWork>, string, string]>([
    ['arguments that are not JSON', { args: '{"a":' }, 'invalid_arguments_json', 'position'],
    ['arguments that do not fit', { args: '{"n":"x"}' }, 'invalid_arguments', '/n: expected type integer; got "x".'],
    ['a tool that is not pinned', { tool: 'other' }, 'unknown_tool', 'no tool other'],
    ['another revision of the tool', { toolRevision: sha256('other') }, 'unknown_tool', 'no tool'],
    ['other arguments than were admitted', { argsHash: sha256('other') }, 'conflict', 'admitted'],
    ['a deadline that has passed', { deadlineAt: '2020-01-01T00:00:00.000Z' }, 'tool_timeout', 'was over'],
  ])('%s is an observation of its own', async (_name, more, code, message) => {
    const tool = toolOf('checked', {
      ...http('/ok'),
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    });
    const { observation } = await observe(tool, more);
    expect(observation).toMatchObject({ errorCode: code, message: expect.stringContaining(message), data: null });
    expect(hits).toEqual([]);
  });

  test('a slow tool times out at its own limit', async () => {
    const { observation } = await observe(toolOf('holding', { ...http('/hold'), timeout: '200ms' }));
    expect(observation).toMatchObject({
      status: 'timeout',
      errorCode: 'tool_timeout',
      message: 'The tool did not answer within 0.2 s.',
    });
    await eventually(() => closedByCaller === 1);
  });

  test('a transient failure of a read is tried once more', async () => {
    const fact = await observe(toolOf('flaky', http('/flaky')));
    expect(fact).toMatchObject({ attempt: 2, observation: { status: 'ok' } });
    const failing = await observe(toolOf('gateway', http('/gateway')));
    expect(failing).toMatchObject({ attempt: 2, observation: { status: 'error', errorCode: 'tool_failed' } });
    expect(failing.rawError).toContain('HTTP 504');
    expect(hits.filter((hit) => hit.path === '/gateway')).toHaveLength(2);
  });

  test('a cancelled run lets go of its calls', async () => {
    const work = await workFor(toolOf('holding', http('/hold')));
    await ask(work);
    await eventually(() => held.length === 1);
    await publishFact(bus, cancelFact(work.runId), newTraceContext());
    const { observation } = await observed(work);
    expect(observation).toMatchObject({ status: 'cancelled', errorCode: 'run_stopped' });
    await eventually(() => closedByCaller === 1);
  });

  test('a result that is cut can be read on in the same run', async () => {
    const list = toolOf('list', { builtin: { name: 'calculator' }, parameters: { properties: { expression: {} } } });
    const big = await workFor(list, { maxChars: 200, args: JSON.stringify({ expression: `${'1+'.repeat(400)}1` }) });
    await ask(big);
    const { observation } = await observed(big);
    expect(observation.truncated).toBe(true);
    expect(observation.data?.length).toBeLessThanOrEqual(200);
    const read = toolOf('read', { builtin: { name: 'read_result' }, parameters: { properties: { ref: {} } } });
    const args = JSON.stringify({ ref: observation.ref });
    const page = await observe(read, { runId: big.runId, m: 1, args });
    const { text } = JSON.parse(page.observation.data ?? '') as { text: string };
    expect(JSON.parse(text)).toMatchObject({ result: 401 });
    const foreign = await observe(read, { args });
    expect(foreign.observation.errorCode).toBe('invalid_arguments');
  });

  test('reads leave no row in Postgres', async () => {
    const before = await database.query('select 1 from tools.effects');
    await observe(toolOf('get', http('/ok')));
    expect(await database.query('select 1 from tools.effects')).toHaveLength(before.length);
  });
});

describe('effects', () => {
  const writing = (path: string, more: Record<string, unknown> = {}) =>
    toolOf('write', { ...http(path, 'POST'), effect: 'write', ...more });
  const claimantOf = (work: ActWork) => {
    const { app, runId, m, i, step, tool, args } = work;
    return { key: effectKey({ app, runId, step, tool, args }), app, runId, m, i, tool, owner: 'gone' };
  };

  test('are claimed, sent with their key, and stored with their result', async () => {
    const work = await workFor(writing('/ok'), { args: '{"amount": 1.10}' });
    await ask(work);
    const { observation } = await observed(work);
    expect(observation.status).toBe('ok');
    const { key: expected } = claimantOf(work);
    expect(hits).toEqual([{ path: '/ok', key: expected }]);
    const rows = await database.query<{ state: string; result: string }>(
      'select state, result from tools.effects where key = $1',
      [expected],
    );
    expect(rows[0]?.state).toBe('done');
    expect(JSON.parse(rows[0]?.result ?? '')).toMatchObject({ observation });
  });

  test('a failing gateway leaves a write in doubt and is not asked twice', async () => {
    const { observation } = await observe(writing('/gateway'));
    expect(observation).toMatchObject({ status: 'in_doubt', errorCode: 'in_doubt' });
    expect(hits).toHaveLength(1);
  });

  test('a write that times out is in doubt', async () => {
    const { observation } = await observe(writing('/hold', { timeout: '150ms' }));
    expect(observation).toMatchObject({ status: 'in_doubt' });
    expect(hits).toHaveLength(1);
  });

  test('a write whose tool was never reached is not in doubt', async () => {
    const tool = toolOf('write', { http: { method: 'POST', url: 'http://127.0.0.1:1/' }, effect: 'write' });
    expect((await observe(tool)).observation).toMatchObject({ status: 'error', errorCode: 'tool_unreachable' });
  });

  test('a claim whose owner died is in doubt, and nothing is sent', async () => {
    const work = await workFor(writing('/ok'));
    await claimEffect(database, claimantOf(work));
    await ask(work);
    expect((await observed(work)).observation.status).toBe('in_doubt');
    expect(hits).toEqual([]);
  });

  test('a claim whose owner died is sent again under the same key where the tool allows it', async () => {
    const work = await workFor(writing('/ok', { idempotent: true }));
    await claimEffect(database, claimantOf(work));
    await ask(work);
    expect((await observed(work)).observation.status).toBe('ok');
    expect(hits).toEqual([{ path: '/ok', key: claimantOf(work).key }]);
  });

  test('a stored result is told again instead of acting again', async () => {
    const work = await workFor(writing('/ok'));
    await ask(work);
    const fact = await observed(work);
    await bus.jsm.streams.purge('RUNS', { filter: `pawl.run.*.demo.${work.runId}.>` });
    await ask(work);
    const again = await observed(work);
    expect({ ...again, at: '' }).toEqual({ ...fact, at: '' });
    expect(hits).toHaveLength(1);
  });

  test('the same write twice in one step acts once', async () => {
    const first = await workFor(writing('/slow'), { args: '{"a":1,"b":2}' });
    const second = { ...first, i: 1, callId: 'call_2', args: '{"b": 2, "a": 1}' };
    await Promise.all([ask(first), ask(second)]);
    const facts = await Promise.all([observed(first), observed(second)]);
    expect(facts.map((fact) => fact.observation.status).toSorted()).toEqual(['duplicate', 'ok']);
    expect(facts[0]?.observation.data).toBe(facts[1]?.observation.data);
    expect(hits).toHaveLength(1);
  });

  test('no write starts for a run that was cancelled before', async () => {
    const work = await workFor(writing('/ok'));
    await publishFact(bus, cancelFact(work.runId), newTraceContext());
    await ask(work);
    expect((await observed(work)).observation).toMatchObject({ status: 'cancelled', errorCode: 'run_stopped' });
    expect(hits).toEqual([]);
  });
});

describe('over HTTP', () => {
  const call = async (method: string, path: string, body?: string) => {
    const response = await fetch(`${runner.url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, text: await response.text() };
  };
  const put = (tool: unknown, name: string) => call('PUT', `/v1/tools/${name}`, JSON.stringify(tool));

  test('a tool can be declared and tried; numbers keep their digits', async () => {
    const tool = toolOf('echo', {
      ...http('/ok', 'POST'),
      parameters: { type: 'object', properties: { id: { type: 'integer' } } },
    });
    expect(await put(tool, 'echo')).toMatchObject({ status: 200 });
    const { status, text } = await call('POST', '/v1/tools/echo/call', '{ "args": { "id": 9007199254740993 } }');
    expect(status).toBe(200);
    expect(text).toContain('"data":{"id":9007199254740993}');
    expect(JSON.parse(text)).toMatchObject({ status: 'ok', error_code: null, source: 'tool:echo', trust: 'untrusted' });
    const wrong = await call('POST', '/v1/tools/echo/call', '{"args":{"id":"x"}}');
    expect(JSON.parse(wrong.text)).toMatchObject({ status: 'error', error_code: 'invalid_arguments' });
  });

  test.each([
    ['/v1/tools/none/call', '{}', 404, 'unknown_tool'],
    ['/v1/tools/echo/call', '{"args":', 400, 'invalid_json'],
    ['/v1/tools/echo/call', '[]', 400, 'invalid_request'],
    ['/v1/tools/echo/call', '{"arg":{}}', 400, 'invalid_request'],
    ['/v1/tools/echo/call', '['.repeat(10_000), 400, 'invalid_request'],
  ])('POST %s with %.20s is a problem', async (path, body, status, code) => {
    const answer = await call('POST', path, body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code, detail: expect.any(String) });
  });

  test.each<[string, Record<string, unknown>, number, string]>([
    ['a kind that is not built yet', { mcp: { server: 's', tool: 't' } }, 422, 'not_supported'],
    [
      'a business key',
      { http: { method: 'POST', url: 'https://example.com' }, businessKey: 'args.x' },
      422,
      'not_supported',
    ],
    ['a private host', { http: { method: 'GET', url: 'http://10.1.1.1/' } }, 403, 'target_not_allowed'],
    [
      'a schema that does not compile',
      { http: { method: 'GET', url: 'https://example.com' }, parameters: { type: 'objct' } },
      400,
      'invalid_request',
    ],
    [
      'an unknown dialect',
      { http: { method: 'GET', url: 'https://example.com' }, parameters: { $schema: 'urn:x' } },
      400,
      'invalid_request',
    ],
    ['an undeclared parameter', { sql: { source: 's', query: 'select :x' } }, 400, 'invalid_request'],
  ])('%s is refused with a sentence', async (_name, spec, status, code) => {
    const answer = await put(toolOf('bad', spec), 'bad');
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code, detail: expect.stringMatching(/\w+ \w+/) });
  });

  test('without a key nothing is told', async () => {
    const response = await fetch(`${runner.url()}/v1/tools/echo/call`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(401);
  });

  test('it is ready and counts its observations', async () => {
    expect((await fetch(`${runner.url()}/healthz/ready`)).status).toBe(200);
    expect(await (await fetch(`${runner.url()}/metrics`)).text()).toContain('pawl_observations_total{status="ok"}');
  });
});
