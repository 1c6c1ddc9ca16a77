import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRegistry } from '@pawl/bus';
import { eventually, useTestServers } from '@pawl/testkit';
import { adminKey, budgetObject, callHttp, routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { levelsOf } from './levels.ts';
import { createBudgetStore } from './store.ts';
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

  it('M1: hold against many calls at once: what is charged and held never passes the limit', async () => {
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
    const others = [await bench.startGateway(), await bench.startGateway()];
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
    for (const other of others) await other.stop();
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

  it('I13: wait for what a dead gateway asked for the same call, where there is no room for both', async () => {
    bench.respond = answerWith('The heir says it.', { prompt_tokens: 3, completion_tokens: 2 });
    const seen = bench.model.seen.length;
    const work = thinkWork({ runSpendLimitNanoUsd: '3000000' });
    const levels = levelsOf({ app: 'demo', runs: [{ runId: work.runId, limitNanoUsd: 3_000_000n }] }, []);
    const dead = createBudgetStore(bench.database, 'dead');
    await dead.hold(work, { levels, needs: [2_900_000n] });
    const thinking = bench.thinkAbout(work);
    await eventually(async () => {
      const info = await bench.bus.jsm.consumers.list('THINK').next();
      return info.some(({ num_redelivered }) => num_redelivered >= 1);
    });
    expect(bench.model.seen.length).toBe(seen);
    await bench.database.query(
      `update gateway.holds set expires_at = now() - interval '1 second' where owner = 'dead'`,
    );
    await dead.sweepHolds();
    expect(await thinking).toMatchObject({ outcome: 'reply', text: 'The heir says it.' });
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: '5000' });
  });

  it('of a run bind the calls over HTTP that are made for it, and only those of its own app', async () => {
    bench.respond = answerWith('For the run.', { prompt_tokens: 3, completion_tokens: 2 });
    const work = thinkWork({ runSpendLimitNanoUsd: '3000000' });
    await bench.thinkAbout(work);
    const limits = () =>
      bench.database.query('select app, runs from gateway.run_limits where run_id = $1', [work.runId]);
    await eventually(async () => (await limits()).length === 1);
    const ask = (maxTokens: number) =>
      fetch(`${bench.gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${bench.appKey}`,
          'content-type': 'application/json',
          'x-pawl-run': work.runId,
        },
        body: JSON.stringify({ model: 'smart', max_tokens: maxTokens, messages: [{ role: 'user', content: 'Go.' }] }),
      });
    expect((await ask(1_000)).status).toBe(200);
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: '10000' });
    await bench.database.query('update gateway.counters set spent = 2990000 where key = $1', [`run/${work.runId}`]);
    const refused = await ask(1_000);
    expect(refused.status).toBe(402);
    expect(await refused.text()).toContain('The spend limit of the run has 0.00001 USD left');
    await bench.database.query(`update gateway.run_limits set app = 'other' where run_id = $1`, [work.runId]);
    expect((await ask(1_000)).status).toBe(200);
    expect((await bench.countersOf(`run/${work.runId}`))?.spent).toBe('2990000');
  });

  it('of a run leave the slices of other budgets where they are, when they are reached', async () => {
    const slicing = await bench.startGateway({ PAWL_SECRET_MODEL_KEY: 'x', PAWL_SLICE_CALLS: '8' });
    await bench.put(budgetObject('sliced', { scope: { app: 'demo', user: 'sly' } }));
    const isKnown = () => callHttp(slicing.url, { path: '/v1/budgets/sliced', key: bench.appKey });
    await eventually(async () => (await isKnown()).status === 200);
    bench.respond = answerWith('Held ahead.', { prompt_tokens: 3, completion_tokens: 2 });
    const work = thinkWork({ runSpendLimitNanoUsd: '2000000' });
    await bench.thinkAbout(work);
    const isLimitKnown = `select from gateway.run_limits where run_id = $1`;
    await eventually(async () => (await bench.database.query(isLimitKnown, [work.runId])).length === 1);
    await bench.database.query('update gateway.counters set spent = 2000000 where key = $1', [`run/${work.runId}`]);
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${slicing.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${bench.appKey}`,
          'content-type': 'application/json',
          'x-pawl-user': 'sly',
          ...headers,
        },
        body: JSON.stringify({ model: 'smart', max_tokens: 100, messages: [{ role: 'user', content: 'Go.' }] }),
      });
      return response.status;
    };
    const sliced = `select from gateway.slices where key like 'budget/demo/sliced/%' and amount > 0`;
    expect(await ask({})).toBe(200);
    await eventually(async () => (await bench.database.query(sliced)).length === 1);
    expect(await ask({ 'x-pawl-run': work.runId })).toBe(402);
    expect(await bench.database.query(sliced)).toHaveLength(1);
    await slicing.stop();
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

  it('in other currencies count by the rate of the day, rounded up, and the rate is in the books', async () => {
    const rates = 'EUR=1.20@2020-01-01,EUR=1.25@2020-06-01,EUR=9@2999-01-01';
    const european = await bench.startGateway({ PAWL_EXCHANGE_RATES: rates });
    const object = budgetObject('euros', {
      scope: { app: 'demo', user: 'eva' },
      limit: { amount: '0.0001', currency: 'EUR' },
    });
    const sent = { method: 'PUT', path: '/v1/budgets/euros', key: bench.appKey, body: object };
    // Without a rate it can't be declared, and with one it can.
    expect((await callHttp(bench.gateway.url, sent)).body).toMatchObject({ code: 'not_supported' });
    expect((await callHttp(european.url, sent)).status).toBe(200);
    bench.respond = answerWith('Un mot.', { prompt_tokens: 0, completion_tokens: 7 });
    const ask = () =>
      fetch(`${european.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bench.appKey}`, 'content-type': 'application/json', 'x-pawl-user': 'eva' },
        body: JSON.stringify({ model: 'euro', max_tokens: 100, messages: [{ role: 'user', content: 'Go.' }] }),
      });
    const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '1.00' };
    await bench.put(routeObject('euro', { baseUrl: bench.model.baseUrl, price }));
    await eventually(async () => (await ask()).status === 200);
    const state = () => callHttp(european.url, { path: '/v1/budgets/euros/state', key: bench.appKey });
    // 7,000 nano-USD at 1.25 are 5,600 nano-EUR.
    expect((await state()).body).toMatchObject({
      limit: { nanoUsd: '125000', amount: '0.0001', currency: 'EUR' },
      spent: { nanoUsd: '7000', amount: '0.0000056', currency: 'EUR' },
    });
    const lines = await bench.database.query(`select rates, cost_nano_usd from gateway.ledger where user_id = 'eva'`);
    expect(lines).toEqual([{ rates: { EUR: { usdPerUnit: '1.25', since: '2020-06-01' } }, cost_nano_usd: '7000' }]);
    // 100,000 nano-USD at the worst are 80,000 nano-EUR: there is room for one call, and then for fewer words.
    const second = await ask();
    expect([second.status, bench.model.seen.at(-1)?.body['max_tokens']]).toEqual([200, 100]);
    bench.respond = answerWith('Tout.', { prompt_tokens: 0, completion_tokens: 100 });
    expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect(refused.status).toBe(402);
    expect(await refused.text()).toContain('has 0.0000088 EUR left; this call may need');
    await callHttp(european.url, { method: 'DELETE', path: '/v1/budgets/euros', key: bench.appKey });
    await european.stop();
  });

  it('whose currency has no rate any more refuse by name, and no money moves', async () => {
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
    expect((await bench.thinkAbout(work)).error).toMatchObject({
      code: 'not_supported',
      message: expect.stringContaining('Budget "foreign" is in EUR, for which there is no exchange rate'),
    });
    expect(bench.model.seen.length).toBe(seen);
    expect(await bench.ledgerOf(work.runId)).toEqual([]);
    const state = await callHttp(bench.gateway.url, { path: '/v1/budgets/foreign/state', key: bench.appKey });
    expect(state).toMatchObject({ status: 422, body: { code: 'not_supported' } });
  });
});
