import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRegistry } from '@pawl/bus';
import { eventually, useTestServers } from '@pawl/testkit';
import { adminKey, budgetObject, callHttp, routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { modelKey, openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;

beforeAll(async () => {
  bench = await openModelBench(servers);
});
afterAll(() => bench.close());

describe('budgets', () => {
  it('name the level that refuses, and nothing is spent', async () => {
    const seen = bench.model.seen.length;
    const ofRun = await bench.thinkAbout(thinkWork({ runSpendLimitNanoUsd: '1000' }));
    expect(ofRun.error).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining('The spend limit of the run'),
    });
    await bench.put(
      budgetObject('tiny', { scope: { app: 'demo', agent: 'miser' }, limit: { amount: '0.000001', currency: 'USD' } }),
    );
    const ofBudget = await bench.thinkAbout(thinkWork({ agent: 'miser' }));
    expect(ofBudget.error?.message).toContain('Budget "tiny" of app "demo" has 0.000001 USD left');
    expect(bench.model.seen.length).toBe(seen);
  });

  it('lower the output limit to what fits', async () => {
    bench.respond = answerWith('Short.', { prompt_tokens: 1, completion_tokens: 1 });
    // Room for the input's upper bound and some, not for 1,000 output tokens.
    const thought = await bench.thinkAbout(thinkWork({ runSpendLimitNanoUsd: '400000' }));
    expect(thought.outcome).toBe('reply');
    const limit = Number(bench.model.seen.at(-1)?.body['max_tokens']);
    expect(limit).toBeGreaterThanOrEqual(64);
    expect(limit).toBeLessThan(400);
  });

  it('hold against many calls at once: what is charged and held never passes the limit', async () => {
    // 4 dollars a million out, 940 tokens at most: a call needs nearly 0.004 USD of the 0.010.
    const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '4.00' };
    await bench.put(routeObject('racy', { baseUrl: bench.model.baseUrl, price }));
    await bench.put(
      budgetObject('race', {
        scope: { app: 'demo', agent: 'racer' },
        limit: { amount: '0.010', currency: 'USD' },
        window: 'day',
      }),
    );
    bench.respond = answerWith('Go.', { prompt_tokens: 10, completion_tokens: 1_000 });
    const second = await bench.startGateway();
    const works = Array.from({ length: 20 }, () =>
      thinkWork({ agent: 'racer', route: 'racy', maxOutputTokens: 1_000 }),
    );
    const state = () => callHttp(bench.gateway.url, { path: '/v1/budgets/race/state', key: bench.appKey });
    const over: unknown[] = [];
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        const { body } = await state();
        const { held, spent } = body as unknown as Record<string, { nanoUsd: string }>;
        if (BigInt(held?.nanoUsd ?? 0) + BigInt(spent?.nanoUsd ?? 0) > 10_000_000n) over.push(body);
      }
    })();
    const thoughts = await Promise.all(works.map((work) => bench.thinkAbout(work)));
    isDone = true;
    await watching;
    await second.stop();
    const answered = thoughts.filter(({ costNanoUsd }) => costNanoUsd === '4000000');
    expect(answered).toHaveLength(2);
    expect(over).toEqual([]);
    const refusals = thoughts.filter(({ outcome }) => outcome === 'failed').map(({ error }) => error?.code);
    expect(refusals).toEqual(Array.from({ length: 18 }, () => 'budget_exceeded'));
    expect((await state()).body).toMatchObject({
      limit: { nanoUsd: '10000000', amount: '0.01', currency: 'USD' },
      held: { nanoUsd: '0' },
    });
  });

  it('of calls at once make runs wait for each other, and hold over all gateways', async () => {
    const scope = { app: 'demo', agent: 'queued' };
    await bench.put(budgetObject('one-at-once', { scope, limit: { concurrent: 1 } }));
    const second = await bench.startGateway({ PAWL_SECRET_MODEL_KEY: modelKey });
    // The first call is under way until others have been turned away.
    const once = Promise.withResolvers<void>();
    let atOnce = 0;
    let atOnceMax = 0;
    bench.respond = async (response, request) => {
      atOnce += 1;
      atOnceMax = Math.max(atOnceMax, atOnce);
      await once.promise;
      atOnce -= 1;
      return answerWith('In turn.', { prompt_tokens: 1, completion_tokens: 1 })(response, request);
    };
    const works = [0, 1, 2].map(() => thinkWork({ agent: 'queued' }));
    const thinking = Promise.all(works.map((work) => bench.thinkAbout(work)));
    await eventually(async () => {
      const info = await bench.bus.jsm.consumers.list('THINK').next();
      return info.some(({ num_redelivered }) => num_redelivered >= 2);
    });
    once.resolve();
    const thoughts = await thinking;
    await second.stop();
    expect(thoughts.map(({ outcome, error }) => error ?? outcome)).toEqual(['reply', 'reply', 'reply']);
    expect(atOnceMax).toBe(1);
    const state = await callHttp(bench.gateway.url, { path: '/v1/budgets/one-at-once/state', key: bench.appKey });
    expect(state.body).toMatchObject({ limit: { concurrent: 1 }, held: { concurrent: 0 }, spent: { concurrent: 0 } });
  });

  it('of an org hold over its apps, are declared with the admin key alone, and tell who spent', async () => {
    bench.respond = answerWith('Shared.', { prompt_tokens: 3, completion_tokens: 2 });
    const org = { ...budgetObject('acme', { scope: { org: 'acme', apps: ['demo'], agent: 'orger' }, window: 'day' }) };
    const object = { ...org, metadata: { app: 'org', name: 'acme' } };
    const put = (key: string, body: object) =>
      callHttp(bench.gateway.url, { method: 'PUT', path: '/v1/budgets/acme', key, body });
    expect((await put(bench.appKey, object)).status).toBe(403);
    expect((await put(bench.appKey, { ...org })).status).toBe(400);
    expect((await put(adminKey, object)).status).toBe(200);
    const keyOfOrg = { method: 'POST', path: '/v1/keys', key: adminKey, body: { app: 'org' } };
    expect((await callHttp(bench.gateway.url, keyOfOrg)).status).toBe(400);
    await bench.thinkAbout(thinkWork({ agent: 'orger', user: { id: 'eve' } }));
    await bench.thinkAbout(thinkWork({ agent: 'somebody-else', user: { id: 'bob' } }));
    const path = '/v1/budgets/acme/state?app=org&by=user';
    const { body } = await callHttp(bench.gateway.url, { path, key: adminKey });
    expect(body).toMatchObject({
      held: { nanoUsd: '0' },
      spent: { nanoUsd: '5000' },
      spenders: [{ user: 'eve', calls: 1, tokens: 5, cost: { nanoUsd: '5000' } }],
    });
    const small = { ...object, spec: { ...object.spec, limit: { amount: '0.000006', currency: 'USD' } } };
    expect((await put(adminKey, small)).status).toBe(200);
    const refused = await bench.thinkAbout(thinkWork({ agent: 'orger' }));
    expect(refused.error?.message).toContain('Budget "acme" of org "acme" has 0.000001 USD left');
  });

  it('that could never be declared over HTTP fail the run, and no money moves', async () => {
    const registry = await connectRegistry(bench.bus);
    const limit = { amount: '1.00', currency: 'EUR' };
    await registry.put(budgetObject('foreign', { scope: { app: 'demo', agent: 'traveller' }, limit }));
    registry.close();
    await eventually(
      async () =>
        (await callHttp(bench.gateway.url, { path: '/v1/budgets/foreign', key: bench.appKey })).status === 200,
    );
    const seen = bench.model.seen.length;
    const work = thinkWork({ agent: 'traveller' });
    expect((await bench.thinkAbout(work)).error?.code).toBe('internal_error');
    expect(bench.model.seen.length).toBe(seen);
    expect(await bench.ledgerOf(work.runId)).toEqual([]);
  });
});
