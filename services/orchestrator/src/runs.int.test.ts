/** Runs over HTTP on real NATS and Postgres. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streams, type RunView } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { playServices, request, startReplica, type Players, type Replica } from './played-services.suite.ts';

const servers = useTestServers();
let replica: Replica;
let players: Players;

beforeAll(async () => {
  players = await playServices(servers, {
    think(work) {
      const { content } = work.messages.find((message) => message.role === 'user') ?? { content: '' };
      if (content === 'never') return undefined;
      if (work.purpose === 'conclude') return { text: 'best guess' };
      if (content === 'endless' || (content === 'search' && work.m === 0)) {
        return {
          text: 'Looking.',
          calls: [1, 2].map((q) => ({ id: '', tool: 'search', args: JSON.stringify({ q, m: work.m }) })),
        };
      }
      return { text: `Answer to ${content}` };
    },
  });
  replica = await startReplica(servers);
});
afterAll(async () => {
  await replica.stop();
  await players.stop();
});

const runs = (path = '') => `${replica.url}/v1/runs${path}`;
const start = (input: string, more: object = {}, headers: Record<string, string> = {}) =>
  request<RunView>(runs(), { body: { agent: 'analyst', input, ...more }, headers });

describe('a run', () => {
  it('starts, calls tools in parallel and ends with its answer', async () => {
    const { status, body, headers } = await request<RunView>(runs('?wait=20'), {
      body: { agent: 'analyst', input: 'search' },
    });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/runs/${body.id}`);
    expect(body).toMatchObject({
      status: 'ended',
      stopReason: 'final_answer',
      answer: 'Answer to search',
      steps: 2,
      toolCalls: 2,
    });
    expect(body.cost).toEqual({ nanoUsd: '2000', amount: '0.000002', currency: 'USD' });
    expect((await request(runs(`/${body.id}`))).body).toEqual(body);
  });

  it('stops at its limit with the closing answer', async () => {
    const { body } = await request<RunView>(runs('?wait=20'), {
      body: { agent: 'analyst', input: 'endless', limits: { steps: 2 } },
    });
    expect(body).toMatchObject({
      stopReason: 'max_steps',
      answer: 'best guess',
      partial: true,
      steps: 2,
      toolCalls: 4,
    });
    expect(body.detail).toBe('The limit of 2 steps was reached.');
  });

  it('may set the numbers of its agent again, for itself alone', async () => {
    const limits = { steps: 3 };
    const asked = { agent: 'analyst', input: 'endless', limits, reflection: { every: 1 } };
    const { body } = await request<RunView>(runs('?wait=20'), { body: asked });
    expect(body).toMatchObject({ stopReason: 'max_steps', steps: 3 });
    const purposes = players.thinks.filter(({ runId }) => runId === body.id).map(({ purpose }) => purpose);
    expect(purposes).toEqual(['think', 'reflect', 'think', 'reflect', 'think', 'conclude']);
  });

  it('tells the gateway which key it was started with, and so does its fork', async () => {
    const { body } = await request<RunView>(runs('?wait=20'), { body: { agent: 'analyst', input: 'search' } });
    const fork = await request<RunView>(runs(`/${body.id}/fork`), { body: { fromStep: 2 } });
    await request<RunView>(runs(`/${fork.body.id}?wait=20`));
    for (const { id } of [body, fork.body]) {
      const keyIds = players.thinks.filter(({ runId }) => runId === id).map(({ keyId }) => keyId);
      expect(new Set(keyIds), id).toEqual(new Set(['key-of-demo']));
    }
  });

  it('runs on what it was started with, whatever is deployed meanwhile', async () => {
    const work = players.thinks.at(-1);
    expect(work?.messages[0]?.content).toContain('Be brief.');
  });

  it('is started once per Idempotency-Key, and not for another body', async () => {
    const key = { 'idempotency-key': 'order 66' };
    const [first, second] = await Promise.all([start('hello', {}, key), start('hello', {}, key)]);
    expect(new Set([first.status, second.status])).toEqual(new Set([200, 201]));
    expect(first.body.id).toBe(second.body.id);
    const other = await start('goodbye', {}, key);
    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('is cancelled while the model is at work, twice without harm', async () => {
    const { body } = await start('never');
    await eventually(() => players.thinks.some((work) => work.runId === body.id));
    const first = await request(runs(`/${body.id}/cancel`), { body: { reason: 'changed my mind' } });
    const second = await request(runs(`/${body.id}/cancel`), { method: 'POST' });
    expect([first.status, second.status]).toEqual([202, 202]);
    const ended = await request<RunView>(runs(`/${body.id}?wait=10`));
    expect(ended.body).toMatchObject({ stopReason: 'cancelled', detail: 'The run was cancelled: changed my mind' });
    expect(await request(runs(`/${body.id}/cancel`), { body: {} })).toMatchObject({
      status: 409,
      body: { code: 'run_ended' },
    });
  });

  it('is listed in keyset pages, newest first', async () => {
    const ids = [];
    for (const input of ['one', 'two', 'three']) ids.unshift((await start(input)).body.id);
    const first = await request<{ items: RunView[]; next: string }>(runs('?limit=2'));
    expect(first.body.items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const second = await request<{ items: RunView[] }>(runs(`?limit=2&cursor=${first.body.next}`));
    expect(second.body.items[0]?.id).toBe(ids[2]);
    const forged = Buffer.from('{"createdAt":"0000-01-01T00:00:00Z","id":"x"}').toString('base64url');
    for (const cursor of ['rubbish', forged]) {
      const refused = await request(runs(`?cursor=${cursor}`));
      expect(refused.body).toMatchObject({ status: 400, code: 'invalid_request' });
    }
  });
});

describe('a run that was accepted', () => {
  it('is started again when its first fact was lost with the log', async () => {
    const { body } = await start('never');
    await eventually(() => players.thinks.some((work) => work.runId === body.id));
    const before = players.thinks.filter((work) => work.runId === body.id).length;
    await players.bus.jsm.streams.purge(streams.runs);
    await players.bus.jsm.streams.purge(streams.think);
    await replica.stop();
    replica = await startReplica(servers);
    await eventually(() => players.thinks.filter((work) => work.runId === body.id).length > before, {
      withinMs: 25_000,
    });
  });
});

describe('bad input', () => {
  const valid = { agent: 'analyst', input: 'x' };
  it.each([
    { name: 'an unknown agent', body: { ...valid, agent: 'nobody' }, status: 404, code: 'unknown_agent' },
    { name: 'an unknown field', body: { ...valid, colour: 'red' }, status: 400, code: 'invalid_request' },
    { name: 'no input', body: { agent: 'analyst' }, status: 400, code: 'invalid_request' },
    { name: 'an empty input', body: { ...valid, input: '' }, status: 400, code: 'invalid_request' },
    { name: 'a negative limit', body: { ...valid, limits: { steps: -1 } }, status: 400, code: 'invalid_request' },
    { name: 'a fraction as a limit', body: { ...valid, limits: { steps: 1.5 } }, status: 400, code: 'invalid_request' },
    {
      name: 'a negative spend',
      body: { ...valid, limits: { spend: { amount: '-1', currency: 'USD' } } },
      status: 400,
      code: 'invalid_request',
    },
    { name: 'broken JSON', body: '{"agent":', status: 400, code: 'invalid_json' },
    { name: 'an array', body: '[]', status: 400, code: 'invalid_request' },
    { name: '5 MiB', body: { ...valid, input: 'x'.repeat(5 * 1_048_576) }, status: 413, code: 'body_too_large' },
  ])('gets a problem with a code and a sentence: $name', async ({ body, status, code }) => {
    const answer = await request(runs(), { body });
    expect(answer.status).toBe(status);
    const sentences = { title: expect.any(String), detail: expect.stringMatching(/.{5}/) };
    expect(answer.body).toMatchObject({ status, code, ...sentences });
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
  });

  it('refuses a wrong key and a missing one alike', async () => {
    for (const headers of [{ authorization: 'Bearer wrong' }, { authorization: '' }]) {
      const answer = await request(runs(), { body: { agent: 'analyst', input: 'x' }, headers });
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    }
  });

  it('refuses a condition that is not CEL', async () => {
    const approvals = [{ tool: 'search', when: 'args.amount >' }];
    const spec = { instructions: 'x', models: { think: 'smart' }, tools: ['search'], approvals };
    const agent = { apiVersion: 'pawl.dev/v1', kind: 'Agent', metadata: { app: 'demo', name: 'careful' }, spec };
    const answer = await request(`${replica.url}/v1/agents/careful`, { method: 'PUT', body: agent });
    expect(answer.body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      detail: expect.stringContaining('approvals.0.when'),
    });
  });
});
