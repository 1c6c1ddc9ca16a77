import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import {
  adminKey,
  budgetObject,
  callHttp,
  openBench,
  routeObject,
  thinkAbout,
  thinkWork,
  type Bench,
  type Gateway,
} from '../testing/gateway-bench.ts';
import { answerWith, startModelServer, type ModelServer } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: Bench;
let gateway: Gateway;
let model: ModelServer;

beforeAll(async () => {
  bench = await openBench(servers);
  model = await startModelServer(answerWith('Yes.', { prompt_tokens: 30, completion_tokens: 10 }));
  gateway = await bench.startGateway();
});
afterAll(async () => {
  await gateway.stop();
  await model.stop();
  await bench.close();
});

const call = (method: string, path: string, options: { key?: string; body?: unknown } = {}) =>
  callHttp(gateway.url, { method, path, key: options.key ?? bench.appKey, body: options.body });

describe('keys', () => {
  it('are made by the admin only, shown once, kept as a hash, and work at once', async () => {
    const made = await call('POST', '/v1/keys', { key: adminKey, body: { app: 'shop' } });
    expect(made).toMatchObject({ status: 201, body: { app: 'shop', scopes: ['*'], expiresAt: null } });
    const { key, id } = made.body as unknown as { key: string; id: string };
    const rows = await bench.database.query('select * from gateway.keys where id = $1', [id]);
    expect(rows).toMatchObject([{ app: 'shop', revoked_at: null }]);
    expect(JSON.stringify(rows)).not.toContain(key);
    await eventually(async () => (await call('GET', '/v1/routes', { key })).status === 200);

    expect((await call('POST', '/v1/keys', { body: { app: 'shop' } })).status).toBe(403);
    expect((await call('POST', '/v1/keys', { key: 'wrong', body: { app: 'shop' } })).status).toBe(401);
    expect((await call('DELETE', `/v1/keys/${id}`)).status).toBe(403);
    expect((await call('DELETE', `/v1/keys/${id}`, { key: adminKey })).status).toBe(204);
    await eventually(async () => (await call('GET', '/v1/routes', { key })).status === 401);
    expect((await call('DELETE', `/v1/keys/${id}`, { key: adminKey })).status).toBe(404);
  });

  it('are rotated: both work for a while, then only the new one, which ends when the old one would have', async () => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const body = { app: 'rotated', scopes: ['registry'], expiresAt };
    const old = (await call('POST', '/v1/keys', { key: adminKey, body })).body as unknown as {
      key: string;
      id: string;
    };
    const rotate = (overlap: string) => call('POST', `/v1/keys/${old.id}/rotate`, { key: adminKey, body: { overlap } });
    const first = await rotate('1h');
    expect(first).toMatchObject({ status: 201, body: { app: 'rotated', scopes: ['registry'], expiresAt } });
    const works = async (key: unknown) => (await call('GET', '/v1/routes', { key: String(key) })).status === 200;
    await eventually(() => works(first.body['key']));
    expect(await works(old.key)).toBe(true);
    const second = await rotate('1ms');
    await eventually(() => works(second.body['key']));
    await eventually(async () => !(await works(old.key)));
    expect((await rotate('1h')).status).toBe(404);
    expect((await call('POST', `/v1/keys/${old.id}/rotate`, { body: {} })).status).toBe(403);
  });

  it.each([
    [{ app: 'Not An App' }],
    [{ app: 'shop', scopes: ['everything'] }],
    [{ app: 'shop', extra: 1 }],
    [{ app: 'shop', expiresAt: '2020-01-01T00:00:00Z' }],
  ])('are refused for %j', async (body) => {
    expect(await call('POST', '/v1/keys', { key: adminKey, body })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });

  it('come back after the bucket was lost, without the revoked ones', async () => {
    const make = async () =>
      (await call('POST', '/v1/keys', { key: adminKey, body: { app: 'healed' } })).body as unknown as {
        key: string;
        id: string;
      };
    const [kept, revoked] = [await make(), await make()];
    await call('DELETE', `/v1/keys/${revoked.id}`, { key: adminKey });
    for await (const name of await bench.bus.keys.keys()) await bench.bus.keys.purge(name);
    const healer = await bench.startGateway();
    await eventually(async () => (await callHttp(healer.url, { path: '/v1/routes', key: kept.key })).status === 200);
    expect((await callHttp(healer.url, { path: '/v1/routes', key: revoked.key })).status).toBe(401);
    await healer.stop();
  });
});

describe('declared objects', () => {
  // The bucket was emptied above, and with it the key that the bench had put there by hand.
  beforeAll(async () => {
    const made = await call('POST', '/v1/keys', { key: adminKey, body: { app: 'demo' } });
    bench.appKey = (made.body as unknown as { key: string }).key;
    await eventually(async () => (await call('GET', '/v1/routes')).status === 200);
  });

  const put = (path: string, body: unknown) => call('PUT', path, { body });
  const price = { currency: 'EUR', inputPerMillion: '1', outputPerMillion: '1' };

  it('are refused where they could not be kept', async () => {
    expect((await put('/v1/routes/r', routeObject('r', { price }))).body).toMatchObject({
      status: 422,
      code: 'not_supported',
    });
    expect((await put('/v1/routes/r', routeObject('r', { baseUrl: 'http://169.254.169.254/v1' }))).body).toMatchObject({
      code: 'target_not_allowed',
    });
    expect((await put('/v1/routes/r', routeObject('r', { baseUrl: 'http://2130706434/v1' }))).body).toMatchObject({
      code: 'target_not_allowed',
    });
    expect((await put('/v1/routes/r', routeObject('r', { baseUrl: 'http://u:p@8.8.8.8/v1' }))).body).toMatchObject({
      code: 'invalid_request',
    });
    const limit = { amount: '1', currency: 'BRL' };
    expect((await put('/v1/budgets/b', budgetObject('b', { limit }))).body).toMatchObject({ code: 'not_supported' });
    expect((await put('/v1/budgets/b', budgetObject('b', { timeZone: 'Mars/Olympus' }))).body).toMatchObject({
      status: 400,
    });
    expect((await put('/v1/budgets/b', budgetObject('b', { scope: { app: 'other' } }))).body).toMatchObject({
      status: 400,
    });
    expect((await call('GET', '/v1/budgets/b')).status).toBe(404);
  });

  it('tell the state of a budget, and of no other app', async () => {
    await put('/v1/routes/smart', routeObject('smart', { baseUrl: model.baseUrl }));
    await put('/v1/budgets/day', budgetObject('day', { window: 'day', timeZone: 'America/Sao_Paulo' }));
    await put('/v1/budgets/calls', budgetObject('calls', { limit: { calls: 5 } }));
    const work = thinkWork({ user: { id: 'eve' } });
    expect((await thinkAbout(bench.bus, work)).outcome).toBe('reply');
    const { body } = await call('GET', '/v1/budgets/day/state');
    expect(body).toMatchObject({
      limit: { nanoUsd: '1000000000', amount: '1.00', currency: 'USD' },
      held: { nanoUsd: '0' },
      spent: { nanoUsd: '40000', amount: '0.00004' },
      window: { from: expect.stringMatching(/T03:00:00.000Z$/), to: expect.stringMatching(/T03:00:00.000Z$/) },
    });
    expect((await call('GET', '/v1/budgets/calls/state')).body).toMatchObject({
      limit: { calls: 5 },
      spent: { calls: 1 },
      window: { from: null, to: null },
    });
    const stranger = await call('POST', '/v1/keys', { key: adminKey, body: { app: 'stranger', scopes: ['budgets'] } });
    const { key } = stranger.body as unknown as { key: string };
    await eventually(async () => (await call('GET', '/v1/budgets/day/state', { key })).status === 404);
    expect((await call('GET', '/v1/spend', { key })).body).toMatchObject({ items: [] });
    expect((await call('GET', '/v1/budgets/day', { key })).status).toBe(403);
  });
});

describe('spending', () => {
  it('is summed by what is asked for', async () => {
    const day = new Date().toISOString().slice(0, 10);
    const { body } = await call('GET', '/v1/spend?by=agent,model,day');
    expect(body).toMatchObject({
      items: [
        {
          agent: 'analyst',
          model: 'm',
          day,
          calls: 1,
          inputTokens: 30,
          outputTokens: 10,
          estimatedCalls: 0,
          cost: { nanoUsd: '40000' },
        },
      ],
    });
    expect((await call('GET', '/v1/spend?by=user')).body).toMatchObject({ items: [{ user: 'eve' }] });
    expect((await call('GET', '/v1/spend?by=')).body).toMatchObject({ items: [{ calls: 1 }] });
    expect((await call('GET', '/v1/spend?to=2020-01-01')).body).toMatchObject({ items: [] });
    expect((await call('GET', '/v1/spend?by=secret')).status).toBe(400);
    expect((await call('GET', '/v1/spend', { key: adminKey })).status).toBe(400);
    expect((await call('GET', '/v1/spend?app=demo', { key: adminKey })).body).toMatchObject({ items: [{ calls: 1 }] });
  });
});
