/** Webhooks and sessions over HTTP on real NATS and Postgres. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunView } from '@pawl/contracts';
import { connectRegistry, tellToolChange } from '@pawl/bus';
import { connectDatabase } from '@pawl/db';
import { eventually, useTestServers } from '@pawl/testkit';
import { playServices, request, startReplica, type Players, type Replica } from './played-services.suite.ts';

const servers = useTestServers();
const secret = `whsec_${Buffer.from('a shared secret').toString('base64')}`;
const received: { headers: IncomingHttpHeaders; body: string }[] = [];
let hook: Server;
let replica: Replica;
let players: Players;
const both = ['search', 'look'].map((tool) => ({ id: '', tool, args: '{}' }));
/** Lets a call of `look` be answered. */
let look = () => {};

beforeAll(async () => {
  hook = createServer((incoming, answer) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      received.push({ headers: incoming.headers, body });
      answer.writeHead(received.length === 1 ? 500 : 204).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const address = hook.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const asks = {
    approvals: [{ tool: 'search' }],
    webhooks: { waiting: { url: `http://127.0.0.1:${port}/told`, secret } },
  };
  players = await playServices(
    servers,
    {
      think({ messages, m }) {
        const question = messages.find(({ role }) => role === 'user')?.content;
        if (question === 'both' && m === 0) return { calls: both };
        const tool = { gated: 'search', pay: 'bank_pay', 'pay twice': 'bank_pay' }[question ?? ''];
        return tool !== undefined && m < (question === 'pay twice' ? 2 : 1)
          ? { calls: [{ id: '', tool, args: JSON.stringify({ q: m }) }] }
          : { text: `answer ${messages.length}` };
      },
      act: ({ tool }) =>
        tool === 'look' ? new Promise((resolve) => (look = () => resolve({ data: '"seen"' }))) : Promise.resolve({}),
    },
    { ...asks, tools: ['search', 'look'] },
  );
  replica = await startReplica(servers);
});
afterAll(async () => {
  await replica.stop();
  await players.stop();
  hook.close();
});

describe('a webhook', () => {
  it('is told when a run begins to wait, signed, and again when it did not take it', async () => {
    const body = { agent: 'analyst', input: 'gated' };
    const { body: run } = await request<RunView>(`${replica.url}/v1/runs?wait=20`, { body });
    expect(run).toMatchObject({ status: 'waiting', stopReason: 'waiting_approval', phase: 'waiting' });
    await eventually(() => received.length === 2);
    const [first, second] = received;
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(JSON.parse(second?.body ?? '')).toMatchObject({
      type: 'run.waiting',
      data: { id: run.id, pending: [{ tool: 'search' }] },
    });
    const header = (name: string) => String(second?.headers[`webhook-${name}`]);
    const signed = createHmac('sha256', 'a shared secret')
      .update(`${header('id')}.${header('timestamp')}.${second?.body}`)
      .digest('base64');
    expect(header('signature')).toBe(`v1,${signed}`);
  });
});

describe('H1: a run of which one call waits for a person and another one is under way', () => {
  it('waits, alone and in the list, and its webhook is told; who waits for it to rest waits on', async () => {
    const { body: started } = await request<RunView>(`${replica.url}/v1/runs`, {
      body: { agent: 'analyst', input: 'both' },
    });
    const read = async () => (await request<RunView>(`${replica.url}/v1/runs/${started.id}`)).body;
    const run = await eventually(async () => {
      const view = await read();
      return view.pending.length > 0 && view;
    });
    expect(run).toMatchObject({
      status: 'waiting',
      stopReason: 'waiting_approval',
      phase: 'act',
      pending: [{ tool: 'search' }],
    });
    const listed = async (status: string) =>
      (await request<{ items: RunView[] }>(`${replica.url}/v1/runs?status=${status}`)).body.items.map(({ id }) => id);
    expect(await listed('waiting')).toContain(run.id);
    expect(await listed('running')).not.toContain(run.id);
    await eventually(() => received.some(({ body }) => body.includes(run.id)));
    const resting = request<RunView>(`${replica.url}/v1/runs/${run.id}?wait=20`);
    expect((await request<RunView>(`${replica.url}/v1/runs/${run.id}?wait=1`)).body.phase).toBe('act');
    look();
    expect((await resting).body).toMatchObject({ status: 'waiting', phase: 'waiting' });
    const [call] = run.pending;
    const body = { decision: 'approve', argsHash: call?.argsHash };
    await request(`${replica.url}/v1/runs/${run.id}/approvals/${call?.callId}`, { body });
    expect((await request<RunView>(`${replica.url}/v1/runs/${run.id}?wait=20`)).body.status).toBe('ended');
  });
});

describe('I11: an approval that a changed tool makes void', () => {
  it('is asked for no longer: the run goes on, and who decides on it is told why', async () => {
    const registry = await connectRegistry(players.bus);
    const base = { apiVersion: 'pawl.dev/v1' as const, metadata: { app: 'demo', name: 'bank_pay' } };
    const of = { app: 'demo', server: 'bank', tool: 'pay' };
    await registry.put({ ...base, kind: 'Tool', spec: { description: 'Pays.', mcp: { server: 'bank', tool: 'pay' } } });
    const spec = { instructions: 'Pay.', models: { think: 'smart' }, tools: ['bank_pay'] };
    const agent = { ...spec, approvals: [{ tool: 'bank_pay' }] };
    await registry.put({ ...base, kind: 'Agent', metadata: { app: 'demo', name: 'payer' }, spec: agent });
    registry.close();
    const body = { agent: 'payer', input: 'pay' };
    // The replica hears of a new agent a moment later than this registry.
    const run = await eventually(async () => {
      const { status, body: view } = await request<RunView>(`${replica.url}/v1/runs?wait=20`, { body });
      return status === 201 && view;
    });
    expect(run).toMatchObject({ status: 'waiting', pending: [{ tool: 'bank_pay' }] });
    const { callId = '' } = run.pending[0] ?? {};
    await tellToolChange(players.bus, of, Date.now());
    const ended = await request<RunView>(`${replica.url}/v1/runs/${run.id}?wait=20`);
    expect(ended.body).toMatchObject({ status: 'ended', stopReason: 'final_answer', pending: [] });
    expect(players.acts.filter(({ runId }) => runId === run.id)).toEqual([]);
    const told = players.thinks.findLast(({ runId }) => runId === run.id)?.messages;
    expect(JSON.stringify(told)).toContain('The server bank has changed what bank_pay is');

    expect(ended.body.voided).toEqual([{ callId, tool: 'bank_pay', why: expect.stringContaining('would be void') }]);
  });
});

describe('I11: who decides on a call that is void', () => {
  it('is told why, while the run goes on and waits for another one', async () => {
    const body = { agent: 'payer', input: 'pay twice' };
    const { body: run } = await request<RunView>(`${replica.url}/v1/runs?wait=20`, { body });
    const [first] = run.pending;
    await tellToolChange(players.bus, { app: 'demo', server: 'bank', tool: 'pay' }, Date.now());
    const { body: next } = await eventually(async () => {
      const answer = await request<RunView>(`${replica.url}/v1/runs/${run.id}`);
      return answer.body.pending[0]?.callId === 'call_1_0' && answer;
    });
    expect(next.voided).toMatchObject([{ callId: 'call_0_0' }]);
    const decided = await request(`${replica.url}/v1/runs/${run.id}/approvals/call_0_0`, {
      body: { decision: 'approve', argsHash: first?.argsHash },
    });
    expect(decided).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail: expect.stringContaining('would be void') },
    });
  });
});

describe('a session', () => {
  it('knows its earlier questions and answers, for the same user only', async () => {
    const ask = (input: string, user: string) =>
      request<RunView>(`${replica.url}/v1/runs?wait=20`, {
        body: { agent: 'analyst', input, session: 's1', user: { id: user } },
      });
    const { body: first } = await ask('first?', 'ana');
    await eventually(async () => {
      const { body } = await request<{ items: RunView[] }>(`${replica.url}/v1/runs?status=ended`);
      return body.items.some(({ id }) => id === first.id);
    });
    // As if it had not been noted yet that the first one ended.
    const database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
    await database.query(`update runs.runs set status = 'open', view = null where id = $1`, [first.id]);
    await database.close();
    await ask('second?', 'ana');
    await ask('mine?', 'bo');
    const promptOf = (input: string) =>
      players.thinks.find(({ messages }) => messages.at(-1)?.content === input)?.messages.map(({ content }) => content);
    expect(promptOf('second?')?.slice(1)).toEqual(['first?', first.answer, 'second?']);
    expect(promptOf('mine?')?.slice(1)).toEqual(['mine?']);
  });
});
