/** Routes whose prices are in another currency than USD. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { budgetObject, callHttp, routeObject, type Gateway } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;
let european: Gateway;

beforeAll(async () => {
  bench = await openModelBench(servers);
  european = await bench.startGateway({ PAWL_EXCHANGE_RATES: 'EUR=1.20@2020-01-01,EUR=1.25@2020-06-01' });
});
afterAll(async () => {
  await european?.stop();
  await bench?.close();
});

const price = { currency: 'EUR', inputPerMillion: '0', outputPerMillion: '0.80' };

it('are held and charged by the rate of the day, which the books keep; without a rate they are refused by name', async () => {
  const sent = {
    method: 'PUT',
    path: '/v1/routes/euro',
    key: bench.appKey,
    body: routeObject('euro', { baseUrl: bench.model.baseUrl, price }),
  };
  expect((await callHttp(bench.gateway.url, sent)).body).toMatchObject({
    code: 'not_supported',
    detail: expect.stringContaining('spec.candidates.0.price.currency: there is no exchange rate for EUR'),
  });
  expect((await callHttp(european.url, sent)).status).toBe(200);
  // 0.80 EUR are 1.00 USD: 100 tokens at the most are 100,000 nano-USD.
  await bench.put(budgetObject('all', { limit: { amount: '0.00015', currency: 'USD' } }));
  bench.respond = answerWith('Un mot.', { prompt_tokens: 3, completion_tokens: 7 });
  const ask = (url: string) =>
    callHttp(url, {
      method: 'POST',
      path: '/v1/chat/completions',
      key: bench.appKey,
      body: { model: 'euro', max_tokens: 100, messages: [{ role: 'user', content: 'Go.' }] },
    });
  await eventually(async () => (await ask(european.url)).status === 200);
  const lines = await bench.database.query('select cost_nano_usd, rates, price from gateway.ledger');
  expect(lines).toMatchObject([
    {
      cost_nano_usd: '7000',
      rates: { EUR: { usdPerUnit: '1.25', since: '2020-06-01' } },
      price: { source: 'route', tiers: [{ output: '1000000000' }] },
    },
  ]);
  bench.respond = answerWith('Tout.', { prompt_tokens: 3, completion_tokens: 100 });
  expect((await ask(european.url)).status).toBe(200);
  expect((await ask(european.url)).body).toMatchObject({ error: { code: 'budget_exceeded' } });
  const [spent] = await bench.database.query(
    `select held, spent from gateway.counters where key like 'budget/demo/all/%'`,
  );
  expect(spent).toEqual({ held: '0', spent: '107000' });

  const seen = bench.model.seen.length;
  const answer = await ask(bench.gateway.url);
  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'model_price_unknown',
        message: expect.stringContaining('EUR, for which there is no exchange rate'),
      },
    },
  });
  expect(bench.model.seen.length).toBe(seen);
});
