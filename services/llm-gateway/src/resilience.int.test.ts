import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRegistry, publishWork } from '@pawl/bus';
import { createSim, type Sim } from '@pawl/sim';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { startProxy, type BreakableProxy } from './testing/breakable-proxy.ts';
import {
  budgetObject,
  callHttp,
  openBench,
  routeObject,
  thinkAbout,
  thinkWork,
  thoughtOf,
  type Bench,
} from './testing/gateway-bench.ts';
import {
  answerWith,
  chunk,
  openStream,
  sendEvent,
  startModelServer,
  type ModelServer,
  type Respond,
} from './testing/model-server.ts';

/** How long Postgres stays away under calls. */
const outageMs = process.env['PAWL_TEST_FULL'] ? 60_000 : 1_000;

const servers = useTestServers();
let bench: Bench;
let proxy: BreakableProxy;
let model: ModelServer;
let sim: Sim;
let respond: Respond = () => {};

beforeAll(async () => {
  bench = await openBench(servers);
  const database = new URL(servers.databaseUrl);
  proxy = await startProxy({ host: database.hostname, port: Number(database.port) });
  model = await startModelServer((response, request) => respond(response, request));
  sim = createSim({
    models: {
      talker: { respond: () => ({ answer: 'It is line C, because customer A cancelled an order.' }) },
      breaker: { respond: () => ({ answer: 'Half of this never arrives.', breakAfterChunks: 2 }) },
      refuser: { respond: () => ({ fail: { status: 400, message: 'no' } }) },
    },
  });
  const { url } = await sim.start();
  const registry = await connectRegistry(bench.bus);
  await registry.put(routeObject('smart', { baseUrl: model.baseUrl }));
  for (const name of ['talker', 'breaker', 'refuser']) {
    await registry.put(routeObject(name, { baseUrl: `${url}/v1`, model: name }));
  }
  registry.close();
});
afterAll(async () => {
  await sim.stop();
  await model.stop();
  await proxy.stop();
  await bench.close();
});

function proxied(): Record<string, string> {
  const url = new URL(servers.databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return { PAWL_DATABASE_URL: url.href };
}
const ledgerOf = (runId: string) =>
  bench.database.query<Record<string, unknown>>('select * from gateway.ledger where run_id = $1 order by at', [runId]);
const heldOf = async (runId: string) =>
  (
    await bench.database.query<{ held: string }>('select held from gateway.counters where key = $1', [`run/${runId}`])
  )[0]?.held;

describe('Postgres goes away', () => {
  it('I3: while a model talks: the thought is told, and the reply is charged once when it is back', async () => {
    const gateway = await bench.startGateway(proxied());
    const seen = model.seen.length;
    respond = (response, request) => {
      proxy.cut();
      return answerWith('Paid for.', { prompt_tokens: 7, completion_tokens: 3 })(response, request);
    };
    const work = thinkWork();
    await publishWork(bench.bus, work, newTraceContext());
    expect(await thoughtOf(bench.bus, work)).toMatchObject({
      outcome: 'reply',
      text: 'Paid for.',
      costNanoUsd: '10000',
    });
    expect((await fetch(`${gateway.url}/healthz/ready`)).status).toBe(503);
    expect(await ledgerOf(work.runId)).toEqual([]);
    expect(await heldOf(work.runId)).not.toBe('0');
    proxy.mend();
    await eventually(async () => (await ledgerOf(work.runId)).length === 1, { withinMs: 20_000 });
    expect(await ledgerOf(work.runId)).toMatchObject([{ cost_nano_usd: '10000', is_final: true }]);
    expect(await heldOf(work.runId)).toBe('0');
    expect(model.seen.length).toBe(seen + 1);
    await gateway.stop();
  });

  it('before the hold: no model is asked until it is back', async () => {
    const gateway = await bench.startGateway(proxied());
    const seen = model.seen.length;
    respond = answerWith('Later.', { prompt_tokens: 1, completion_tokens: 1 });
    proxy.cut();
    const work = thinkWork();
    await publishWork(bench.bus, work, newTraceContext());
    await eventually(() => proxy.refused() >= 1);
    expect(model.seen.length).toBe(seen);
    proxy.mend();
    expect((await thoughtOf(bench.bus, work)).text).toBe('Later.');
    await gateway.stop();
  });
});

describe('M17: Postgres goes away under calls over HTTP', () => {
  it(
    'what was drawn ahead is spent, then 503; afterwards everything is in the books and nothing is held',
    { timeout: 120_000 },
    async () => {
      const gateway = await bench.startGateway({ ...proxied(), PAWL_SLICE_CALLS: '3' });
      const limit = { amount: '1.00', currency: 'USD' };
      const budget = budgetObject('outage', { scope: { app: 'demo', user: 'eve' }, limit });
      const key = bench.appKey;
      await callHttp(gateway.url, { method: 'PUT', path: '/v1/budgets/outage', key, body: budget });
      respond = answerWith('Held before.', { prompt_tokens: 5, completion_tokens: 5 });
      const ask = () =>
        fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-pawl-user': 'eve' },
          body: JSON.stringify({ model: 'smart', max_tokens: 50, messages: [{ role: 'user', content: 'Go.' }] }),
        });
      const state = async () => {
        const [row] = await bench.database.query<{ held: string; spent: string }>(
          `select held, spent from gateway.counters where key like 'budget/demo/outage/%'`,
        );
        return { held: BigInt(row?.held ?? 0), spent: BigInt(row?.spent ?? 0) };
      };
      expect((await ask()).status).toBe(200);
      await eventually(async () => (await state()).held > 0n);
      const { held: drawn } = await state();
      proxy.cut();
      const statuses: number[] = [];
      while (statuses.at(-1) !== 503) statuses.push((await ask()).status);
      // Each call takes 10,000 of a slice that was drawn for three at the worst, until that doesn't cover another.
      const answered = statuses.filter((status) => status === 200).length;
      expect(answered).toBeGreaterThanOrEqual(3);
      expect(BigInt(answered) * 10_000n).toBeLessThanOrEqual(drawn);
      expect(statuses).toEqual([...Array.from({ length: answered }, () => 200), 503]);
      const seen = model.seen.length;
      for (const endMs = performance.now() + outageMs; performance.now() < endMs;) {
        expect((await ask()).status).toBe(503);
        // Time is what is tested: for as long as Postgres is away the answer is 503 and no model is asked.
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(model.seen.length).toBe(seen);
      expect((await fetch(`${gateway.url}/healthz/ready`)).status).toBe(503);
      expect(await state()).toEqual({ held: drawn, spent: 10_000n });
      proxy.mend();
      const settled = BigInt(answered + 1) * 10_000n;
      await eventually(async () => (await state()).spent === settled, { withinMs: 20_000 });
      await eventually(async () => (await ask()).status === 200, { withinMs: 20_000 });
      await gateway.stop();
      expect(await state()).toEqual({ held: 0n, spent: settled + 10_000n });
      const lines = await bench.database.query(`select run_id, stop_kind from gateway.ledger where user_id = 'eve'`);
      expect(lines).toHaveLength(answered + 2);
    },
  );
});

describe('a gateway stops', () => {
  it('in the middle of a call: what came is charged, and another gateway asks again and answers', async () => {
    const stopping = await bench.startGateway({ PAWL_THINK_DRAIN_MS: '0' });
    const talks = Promise.withResolvers<void>();
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'I was about to say that ' }));
      talks.resolve();
    };
    const work = thinkWork();
    await publishWork(bench.bus, work, newTraceContext());
    await talks.promise;
    respond = answerWith('The other one says it.', { prompt_tokens: 7, completion_tokens: 3 });
    await stopping.stop();
    expect(await ledgerOf(work.runId)).toMatchObject([{ stop_kind: 'abandoned', basis: 'estimated' }]);
    const heir = await bench.startGateway();
    expect(await thoughtOf(bench.bus, work)).toMatchObject({ outcome: 'reply', text: 'The other one says it.' });
    expect(await ledgerOf(work.runId)).toMatchObject([
      { stop_kind: 'abandoned' },
      { stop_kind: 'complete', cost_nano_usd: '10000' },
    ]);
    expect(await heldOf(work.runId)).toBe('0');
    await heir.stop();
  });
});

describe('M9: the books', () => {
  it("have a line for every call in the provider's own log, with the same tokens where it told them", async () => {
    const gateway = await bench.startGateway();
    const before = sim.requestCount;
    const routes = ['talker', 'breaker', 'refuser', 'talker'];
    const works = routes.map((route) => thinkWork({ route }));
    await Promise.all(works.map((work) => thinkAbout(bench.bus, work)));
    await eventually(() => sim.requestCount === before + routes.length);
    const lines = (await Promise.all(works.map(({ runId }) => ledgerOf(runId)))).flat();
    expect(lines.map(({ model: name, stop_kind }) => [name, stop_kind])).toEqual([
      ['talker', 'complete'],
      ['breaker', 'upstream_error'],
      ['refuser', 'refused'],
      ['talker', 'complete'],
    ]);
    const completed = sim.requests.filter(({ outcome }) => outcome === 'completed');
    expect(completed).toHaveLength(2);
    for (const { usage } of completed) {
      expect(lines).toContainEqual(
        expect.objectContaining({
          basis: 'measured',
          input_tokens: String(usage.promptTokens),
          output_tokens: String(usage.completionTokens),
          cost_nano_usd: String((usage.promptTokens + usage.completionTokens) * 1_000),
        }),
      );
    }
    await gateway.stop();
  });
});
