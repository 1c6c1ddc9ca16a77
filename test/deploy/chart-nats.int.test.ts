/**
 * The users that the chart gives the services on NATS: with exactly these rights, on a real server, everything works that runs
 * do, and what is another service's to say is refused.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connectBus, readFacts, type Bus } from '@pawl/bus';
import { natsPermissions, type NatsUser } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStack, type Stack } from '../system/stack.ts';
import { startToolServer, type ToolServer } from '../system/tool-server.ts';
import { startGuardedNats, type GuardedNats } from './chart-nats-server.ts';

const setupProgram = fileURLToPath(new URL('../../services/orchestrator/src/setup.ts', import.meta.url));
const postgres = useTestServers();
const users = Object.keys(natsPermissions()) as NatsUser[];
let nats: GuardedNats;
let tools: ToolServer;
let stack: Stack;
let worker: NatsConnection;

beforeAll(async () => {
  nats = await startGuardedNats({ toolSubjects: ['tools.>'] });
  tools = await startToolServer();
  const env = { PATH: process.env['PATH'], PAWL_NATS_URL: nats.url, PAWL_APPS: 'demo', ...nats.environmentOf('setup') };
  await promisify(execFile)(process.execPath, [setupProgram], { env });
  stack = await startStack({
    servers: { natsUrl: nats.url, databaseUrl: postgres.databaseUrl },
    environmentOf: (service) => ({ PAWL_TRACE_MAINTENANCE_MS: '100', ...nats.environmentOf(service) }),
    models: {
      scripted: {
        respond({ question, turn }) {
          if (question === 'Write.') return { answer: 'A long answer. '.repeat(1_000) };
          const tool = question.split(' ')[turn];
          if (tool === undefined) return { answer: 'Done.' };
          return {
            say: `Round ${turn}. ${'x'.repeat(200)}`,
            calls: [{ tool, args: tool === 'ask' ? { input: 'Write.' } : {} }],
          };
        },
      },
    },
  });
  worker = await connect({ servers: nats.url, user: 'worker', pass: 'secret-worker' });
  worker.subscribe('tools.hello', { callback: (_error, message) => void message.respond('"hi"') });
  await worker.flush();
  const { api } = stack;
  await api.putTool('fetch', { http: { method: 'GET', url: `${tools.url}/wait/1` } });
  await api.putTool('big', { http: { method: 'GET', url: `${tools.url}/big/3000000` } });
  await api.putTool('held', { http: { method: 'GET', url: `${tools.url}/held` } });
  await api.putTool('hello', { nats: { subject: 'tools.hello' } });
  await api.putBudget('month', { scope: { app: 'demo' }, limit: { amount: '1000', currency: 'USD' }, window: 'month' });
  await api.putAgent('writer', {});
  const parameters = { type: 'object', properties: { input: { type: 'string' } } };
  await api.putTool('ask', { agent: { name: 'writer' }, parameters });
  await api.putAgent('analyst', { tools: ['fetch', 'big', 'held', 'hello', 'ask'] });
}, 120_000);

afterAll(async () => {
  await stack?.stop();
  await worker?.close();
  await tools?.stop();
  await nats?.stop();
});

describe('with the rights of its user only', () => {
  test('runs go from start to trace: tools over HTTP and NATS, results above the payload limit, a stop', async () => {
    const { api } = stack;
    const { body: run } = await api.run({ agent: 'analyst', input: 'fetch big hello', limits: { tokens: 1_000_000 } });
    expect(run).toMatchObject({ stopReason: 'final_answer', answer: 'Done.', toolCalls: 3 });
    const { body: asking } = await api.run({ agent: 'analyst', input: 'ask', limits: { tokens: 1_000_000 } });
    expect(asking).toMatchObject({ stopReason: 'final_answer', toolCalls: 1 });
    expect((await api.events(asking.id)).body).toMatch(/"truncated":true,"ref":"demo\//);

    tools.hold();
    const { body: held } = await api.startRun({ agent: 'analyst', input: 'held' });
    await eventually(() => tools.calls.some(({ path }) => path === '/held'), { withinMs: 20_000 });
    await api.cancel(held.id);
    expect(await api.getRun(held.id, 30)).toMatchObject({ body: { stopReason: 'cancelled' } });
    tools.release();

    for (const { id } of [run, asking, held]) {
      const isStored = async () => {
        const { body } = await api.getTrace(id);
        return body.records?.some(({ kind }) => kind === 'ended') ? body.records : undefined;
      };
      const records = await eventually(isStored, { withinMs: 20_000, what: 'the trace is complete' });
      const statuses = records.filter(({ kind }) => kind === 'observed').map(({ status }) => status);
      expect(statuses).not.toContain('error');
    }
    expect(await api.events(run.id)).toMatchObject({ status: 200 });
    expect(await nats.refusals()).toEqual([]);
  });

  test('a user is erased, with what tools had said, and every service tells its metrics', async () => {
    const { api, urls } = stack;
    const { body: run } = await api.run({
      agent: 'analyst',
      input: 'big',
      user: { id: 'maria' },
      limits: { tokens: 1_000_000 },
    });
    const isStored = async () => (await api.getTrace(run.id)).body.records?.some(({ kind }) => kind === 'ended');
    await eventually(isStored, { withinMs: 20_000, what: 'the trace is complete' });
    const erasures = `${urls.traceStore}/v1/traces/erasures`;
    const asked = await api.send<{ id: string }>('POST', erasures, { body: { user: 'maria' } });
    expect(asked.status).toBe(202);
    const isErased = async () => {
      const { body } = await api.send<{ status: string; runsErased: number }>('GET', `${erasures}/${asked.body.id}`);
      return body.status === 'finished' && body;
    };
    expect(await eventually(isErased, { withinMs: 20_000, what: 'the user is erased' })).toMatchObject({
      runsErased: 1,
    });
    for (const url of Object.values(urls)) {
      expect(await api.send<string>('GET', `${url}/metrics`)).toMatchObject({ status: 200 });
    }
    // Also of what the setup program and the start of the services did.
    expect(await nats.refusals()).toEqual([]);
  });

  test('the trace-store takes facts out of the log, and the tool-runner reads those of its run', async () => {
    const { body: run } = await stack.api.run({ agent: 'analyst', input: 'fetch' });
    const [store, runner] = await Promise.all([busAs('trace-store'), busAs('tool-runner')]);
    const facts = await readFacts(runner, 'demo', run.id);
    expect(facts.map(({ slot }) => slot)).toContain('ended');
    for (const { sequence, subject } of facts) {
      expect(await store.jsm.streams.getMessage('RUNS', { seq: sequence })).toMatchObject({ subject });
      expect(await store.jsm.streams.deleteMessage('RUNS', sequence, false)).toBe(true);
    }
    expect(await readFacts(runner, 'demo', run.id)).toEqual([]);
    for (const stream of ['RUNS', 'ACT', 'THINK']) {
      expect(await store.jsm.streams.purge(stream, { filter: `pawl.*.*.demo.${run.id}.>` })).toMatchObject({
        purged: 0,
      });
    }
    await Promise.all([store.close(), runner.close()]);
    expect(await nats.refusals()).toEqual([]);
  });

  test.for([
    ['trace-store', 'pawl.run.0.demo.run_x.ended'],
    ['tool-runner', 'pawl.run.0.demo.run_x.thought.0'],
    ['llm-gateway', 'pawl.run.0.demo.run_x.observed.0.0'],
    ['llm-gateway', 'pawl.act.default.demo.run_x.0.0'],
    ['tool-runner', '$KV.pawl_keys.abc'],
    ['orchestrator', '$KV.pawl_registry.demo.tools.mine'],
    ['tool-runner', '$JS.API.STREAM.DELETE.RUNS'],
    ['tool-runner', 'other.service'],
    ['setup', 'pawl.run.0.demo.run_x.started'],
  ] as const)('%s may not publish to %s', async ([user, subject]) => {
    const connection = await connectAs(user);
    connection.publish(subject, '{}');
    await connection.flush();
    const isRefused = async () => (await nats.refusals()).some((line) => line.includes(`"${subject}"`));
    await eventually(isRefused, { what: 'the server has refused it' });
    await connection.close();
  });

  test('nobody hears the answers to another service', async () => {
    for (const user of users) {
      const connection = await connectAs(user);
      const other = user === 'orchestrator' ? 'tool-runner' : 'orchestrator';
      const refused = Promise.withResolvers<Error | null>();
      connection.subscribe(`_INBOX.pawl-${other}.>`, { callback: (error) => refused.resolve(error) });
      expect((await refused.promise)?.message).toMatch(/permissions violation/i);
      await connection.close();
    }
  });

  test('a fact that another service writes is not there', async () => {
    const connection = await connectAs('orchestrator');
    const info = await (await jetstreamManager(connection)).streams.info('RUNS');
    expect(info.state.messages).toBeGreaterThan(0);
    const stranger = await connectAs('tool-runner');
    const published = jetstream(stranger).publish('pawl.run.0.demo.run_x.started', '{}', { timeout: 1_000 });
    await expect(published).rejects.toThrow(/permissions violation/i);
    await Promise.all([connection.close(), stranger.close()]);
  });

  test('who publishes what is another service’s to say is told so at once', async () => {
    const runner = await busAs('tool-runner');
    const message = { subject: 'pawl.run.0.demo.run_x.started', payload: new Uint8Array(), headers: headers() };
    const startedAtMs = performance.now();
    await expect(runner.publishAcknowledged(message)).rejects.toMatchObject({
      cause: { operation: 'publish', subject: message.subject },
    });
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
    await runner.close();
  });
});

async function connectAs(user: NatsUser): Promise<NatsConnection> {
  const { PAWL_NATS_USER, PAWL_NATS_PASSWORD } = nats.environmentOf(user);
  const connection = await connect({
    servers: nats.url,
    user: PAWL_NATS_USER ?? '',
    pass: PAWL_NATS_PASSWORD ?? '',
    inboxPrefix: `_INBOX.${PAWL_NATS_USER}`,
  });
  return connection;
}

function busAs(user: NatsUser): Promise<Bus> {
  const { PAWL_NATS_USER, PAWL_NATS_PASSWORD } = nats.environmentOf(user);
  return connectBus({ url: nats.url, user: PAWL_NATS_USER, password: PAWL_NATS_PASSWORD, name: 'test' });
}
