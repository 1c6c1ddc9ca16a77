/** Limits of one key: requests and tokens a minute, calls at once. They hold over gateways, and for that key alone. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectKeys, type Keys } from '@pawl/bus';
import { sha256 } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { app, budgetObject, callHttp, thinkWork, type Gateway } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;
let keys: Keys;
let gateways: Gateway[];

beforeAll(async () => {
  bench = await openModelBench(servers);
  keys = await connectKeys(bench.bus);
  // Calls are held out of slices, as in production.
  gateways = [await bench.startGateway({ PAWL_SECRET_MODEL_KEY: 'x', PAWL_SLICE_CALLS: '8' }), bench.gateway];
});
afterAll(async () => {
  keys?.close();
  await gateways?.[0]?.stop();
  await bench?.close();
});

/** A key of the app with an id of its own, known on both gateways, and the status of a call with it. */
async function makeKey(id: string) {
  const key = `pawl_${randomBytes(16).toString('hex')}`;
  await keys.put(sha256(key), { id, app, scopes: ['chat'], expiresAt: null });
  const body = { model: 'smart', max_tokens: 20, messages: [{ role: 'user', content: 'Go.' }] };
  const ask = async (gateway: Gateway) =>
    (await callHttp(gateway.url, { method: 'POST', path: '/v1/chat/completions', key, body })).status;
  for (const { url } of gateways) {
    await eventually(async () => (await callHttp(url, { path: '/v1/models', key })).status === 200);
  }
  return ask;
}

it.each([
  ['requests', { calls: 3 }],
  ['tokens', { tokens: 200 }],
])('%s a minute', async (name, limit) => {
  bench.respond = answerWith('Yes.', { prompt_tokens: 40, completion_tokens: 20 });
  await bench.put(budgetObject(`of-${name}`, { scope: { app, key: `k-${name}` }, limit, window: 'minute' }));
  const [limited, free] = [await makeKey(`k-${name}`), await makeKey(`free-${name}`)];
  const statuses: number[] = [];
  // A minute may end in between: then its successor takes the rest.
  for (let times = 0; times < 10; times += 1) statuses.push(await limited(gateways[times % 2]!));
  const answered = statuses.filter((status) => status === 200).length;
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(6);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  for (const gateway of gateways) expect(await free(gateway)).toBe(200);
});

it('calls at once', async () => {
  const gate = Promise.withResolvers<void>();
  bench.respond = async (response, request) => {
    await gate.promise;
    return answerWith('Yes.', { prompt_tokens: 5, completion_tokens: 5 })(response, request);
  };
  const limit = { concurrent: 2 };
  await bench.put(budgetObject('at-once', { scope: { app, key: 'k-at-once' }, limit, window: 'total' }));
  const limited = await makeKey('k-at-once');
  const seen = bench.model.seen.length;
  const calls = Array.from({ length: 8 }, (_, at) => limited(gateways[at % 2]!));
  await eventually(() => bench.model.seen.length === seen + 2);
  const statuses: number[] = [];
  for (const call of calls) void call.then((status) => statuses.push(status));
  await eventually(() => statuses.length === 6, { what: 'all but two are refused while two are under way' });
  expect(statuses).toEqual(Array.from({ length: 6 }, () => 429));
  gate.resolve();
  expect((await Promise.all(calls)).filter((status) => status === 200)).toHaveLength(2);
  expect(await limited(gateways[0]!)).toBe(200);
});

it('counts the calls of runs that were started with it, too', async () => {
  const gate = Promise.withResolvers<void>();
  bench.respond = async (response, request) => {
    await gate.promise;
    return answerWith('Yes.', { prompt_tokens: 5, completion_tokens: 5 })(response, request);
  };
  const budget = budgetObject('of-runs', {
    scope: { app, key: 'k-of-runs' },
    limit: { concurrent: 1 },
    window: 'total',
  });
  await bench.put(budget);
  for (const { url } of gateways) {
    const path = '/v1/budgets/of-runs';
    await eventually(async () => (await callHttp(url, { path, key: bench.appKey })).status === 200);
  }
  const limited = await makeKey('k-of-runs');
  const seen = bench.model.seen.length;
  const thinking = bench.thinkAbout(thinkWork({ keyId: 'k-of-runs' }));
  await eventually(() => bench.model.seen.length === seen + 1);
  expect(await limited(gateways[0]!)).toBe(429);
  gate.resolve();
  expect(await thinking).toMatchObject({ outcome: 'reply' });
  expect(await limited(gateways[0]!)).toBe(200);
});

it('a limit of a key is a rate, since the books know no keys', async () => {
  const body = budgetObject('money', { scope: { app, key: 'k' }, window: 'day' });
  const answer = await callHttp(bench.gateway.url, {
    method: 'PUT',
    path: '/v1/budgets/money',
    key: bench.appKey,
    body,
  });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body)).toContain('a limit of one key is a rate');
});
