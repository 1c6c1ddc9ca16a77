import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import type { ThresholdEvent } from '../budget/threshold-watch.ts';
import { adminKey, budgetObject, callHttp, thinkWork } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;

beforeAll(async () => {
  bench = await openModelBench(servers);
});
afterAll(() => bench.close());

const spentOf = async (name: string) =>
  (await callHttp(bench.gateway.url, { path: `/v1/budgets/${name}/state`, key: bench.appKey })).body['spent'];

describe('corrections', () => {
  it('are lines of their own, change the budget once, and leave the corrected line as it was', async () => {
    await bench.put(budgetObject('corrected', { scope: { app: 'demo', agent: 'corrected' }, window: 'month' }));
    bench.respond = answerWith('Paid.', { prompt_tokens: 40, completion_tokens: 5 });
    const work = thinkWork({ agent: 'corrected' });
    await bench.thinkAbout(work);
    const lines = () => callHttp(bench.gateway.url, { path: `/v1/ledger?run=${work.runId}`, key: bench.appKey });
    const [line] = (await lines()).body['items'] as unknown as { call_id: string }[];
    const correct = (key: string) =>
      fetch(`${bench.gateway.url}/v1/ledger/corrections`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'once' },
        body: JSON.stringify({ callId: line?.call_id, costNanoUsd: '-5000', note: 'the provider gave it back' }),
      });
    expect((await correct(bench.appKey)).status).toBe(403);
    expect((await correct(adminKey)).status).toBe(201);
    expect((await correct(adminKey)).status).toBe(201);
    expect((await lines()).body['items']).toMatchObject([
      { stop_kind: 'correction', cost_nano_usd: '-5000', corrects: line?.call_id, note: 'the provider gave it back' },
      { stop_kind: 'complete', cost_nano_usd: '45000' },
    ]);
    expect(await spentOf('corrected')).toMatchObject({ nanoUsd: '40000' });
    const spend = await callHttp(bench.gateway.url, { path: '/v1/spend?by=run', key: bench.appKey });
    expect(spend.body['items']).toMatchObject([{ run: work.runId, cost: { nanoUsd: '40000' } }]);
  });
});

describe('thresholds', () => {
  it('are told once each, however many gateways look', async () => {
    const second = await bench.startGateway();
    const told: ThresholdEvent[] = [];
    const subscription = bench.bus.connection.subscribe('pawl.budget.demo.watched', {
      callback: (_error, message) => void told.push(JSON.parse(message.string()) as ThresholdEvent),
    });
    const limit = { amount: '0.0002', currency: 'USD' };
    await bench.put(budgetObject('watched', { scope: { app: 'demo', agent: 'watched' }, limit, window: 'day' }));
    bench.respond = answerWith('Paid.', { prompt_tokens: 95, completion_tokens: 10 });
    await bench.thinkAbout(
      thinkWork({ agent: 'watched', maxOutputTokens: 10, messages: [{ role: 'user', content: '' }] }),
    );
    await eventually(() => told.length === 1);
    expect(told[0]).toMatchObject({ app: 'demo', budget: 'watched', percent: 50, unit: 'nano-usd', limit: '200000' });
    // The budget shrinks: what was spent is now more than all of it.
    await bench.put(
      budgetObject('watched', {
        scope: { app: 'demo', agent: 'watched' },
        limit: { ...limit, amount: '0.0001' },
        window: 'day',
      }),
    );
    await eventually(() => told.length === 3);
    expect(told.map(({ percent }) => percent)).toEqual([50, 80, 100]);
    subscription.unsubscribe();
    await second.stop();
  });
});
