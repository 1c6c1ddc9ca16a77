import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { publishFact, publishWork, subscribeDeltas } from '@pawl/bus';
import { newTraceContext } from '@pawl/telemetry';
import {
  budgetObject,
  callHttp,
  openBench,
  routeObject,
  thinkAbout,
  thinkWork,
  type Bench,
  type Gateway,
} from './testing/gateway-bench.ts';
import {
  answerWith,
  chunk,
  failWith,
  openStream,
  sendEvent,
  startModelServer,
  usageChunk,
  type ModelServer,
  type Respond,
} from './testing/model-server.ts';

const servers = useTestServers();
let bench: Bench;
let gateway: Gateway;
let model: ModelServer;
let respond: Respond = () => {};

beforeAll(async () => {
  bench = await openBench(servers);
  model = await startModelServer((response, request) => respond(response, request));
  gateway = await bench.startGateway({ PAWL_SECRET_MODEL_KEY: 'sk-very-secret-value' });
  await put(routeObject('smart', { baseUrl: model.baseUrl, apiKey: '${secret:MODEL_KEY}' }));
});

afterAll(async () => {
  await gateway.stop();
  await model.stop();
  await bench.close();
});

async function put(object: { kind: string; metadata: { name: string } }): Promise<void> {
  const path = `/v1/${object.kind === 'Budget' ? 'budgets' : 'routes'}/${object.metadata.name}`;
  const { status, body } = await callHttp(gateway.url, { method: 'PUT', path, key: bench.appKey, body: object });
  expect(body).toMatchObject({ kind: object.kind });
  expect(status).toBe(200);
}

async function ledgerOf(runId: string) {
  return await bench.database.query<Record<string, unknown>>('select * from gateway.ledger where run_id = $1', [runId]);
}

async function countersOf(key: string) {
  const rows = await bench.database.query<{ held: string; spent: string }>(
    'select held, spent from gateway.counters where key = $1',
    [key],
  );
  return rows[0];
}

describe('think work', () => {
  it('becomes a thought with text, usage, cost and route, and one line in the books', async () => {
    respond = answerWith('It is line C.', { prompt_tokens: 40, completion_tokens: 5 });
    const work = thinkWork();
    const deltas: string[] = [];
    const unsubscribe = subscribeDeltas(bench.bus, work, ({ text }) => deltas.push(text));
    await bench.bus.connection.flush();
    const thought = await thinkAbout(bench.bus, work);
    unsubscribe();
    expect(thought).toMatchObject({
      outcome: 'reply',
      text: 'It is line C.',
      calls: [],
      finishReason: 'stop',
      usage: { inputTokens: 40, outputTokens: 5 },
      costNanoUsd: '45000',
      costBasis: 'measured',
      route: { provider: 'sim', model: 'm', responseId: 'resp-1' },
    });
    expect(deltas.join('')).toBe('It is line C.');
    expect(await ledgerOf(work.runId)).toMatchObject([
      { cost_nano_usd: '45000', basis: 'measured', stop_kind: 'reply' },
    ]);
    expect(await countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: '45000' });
    const sent = model.seen.at(-1);
    expect(sent?.authorization).toBe('Bearer sk-very-secret-value');
    expect(sent?.body).toMatchObject({ max_tokens: 1_000, stream: true, stream_options: { include_usage: true } });
  });

  it('is charged once and asked once, however often it is delivered', async () => {
    respond = answerWith('Once.', { prompt_tokens: 10, completion_tokens: 2 });
    const work = thinkWork();
    const first = await thinkAbout(bench.bus, work);
    const seen = model.seen.length;
    for (let again = 0; again < 3; again += 1) {
      await eventually(async () => (await publishWork(bench.bus, work, newTraceContext())) === 'written');
    }
    await eventually(async () => (await bench.bus.jsm.streams.info('THINK')).state.messages === 0);
    expect(model.seen.length).toBe(seen);
    expect(await ledgerOf(work.runId)).toHaveLength(1);
    expect(await countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: first.costNanoUsd });
  });

  it('puts parallel tool calls together from interleaved fragments', async () => {
    respond = (response) => {
      openStream(response);
      const fragment = (call: object) => sendEvent(response, chunk({ tool_calls: [call] }));
      fragment({ index: 0, id: 'a', function: { name: 'first', arguments: '{"x"' } });
      fragment({ index: 1, id: 'b', function: { name: 'second', arguments: '{' } });
      fragment({ index: 0, function: { arguments: ':1}' } });
      fragment({ index: 1, function: { arguments: '}' } });
      sendEvent(response, chunk({}, 'tool_calls'));
      sendEvent(response, usageChunk({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }));
      sendEvent(response, '[DONE]');
      response.end();
    };
    const thought = await thinkAbout(bench.bus, thinkWork());
    expect(thought.calls).toEqual([
      { id: 'a', tool: 'first', args: '{"x":1}' },
      { id: 'b', tool: 'second', args: '{}' },
    ]);
  });

  it('fails without spending when the route, the price or the secret is missing', async () => {
    const seen = model.seen.length;
    expect((await thinkAbout(bench.bus, thinkWork({ route: 'nowhere' }))).error?.code).toBe('unknown_route');
    const { price: _price, ...unpriced } = routeObject('unpriced', { baseUrl: model.baseUrl }).spec.candidates[0] ?? {};
    await put({ ...routeObject('unpriced', {}), spec: { candidates: [unpriced] } } as never);
    expect((await thinkAbout(bench.bus, thinkWork({ route: 'unpriced' }))).error?.code).toBe('model_price_unknown');
    await put(routeObject('secretless', { baseUrl: model.baseUrl, apiKey: '${secret:NOT_THERE}' }));
    expect((await thinkAbout(bench.bus, thinkWork({ route: 'secretless' }))).error?.code).toBe('secret_missing');
    expect(model.seen.length).toBe(seen);
  });

  it('takes an explicit price of zero', async () => {
    respond = answerWith('Free.', { prompt_tokens: 10, completion_tokens: 2 });
    const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '0' };
    await put(routeObject('free', { baseUrl: model.baseUrl, price }));
    const thought = await thinkAbout(bench.bus, thinkWork({ route: 'free', runSpendLimitNanoUsd: '0' }));
    expect(thought).toMatchObject({ outcome: 'reply', costNanoUsd: '0', costBasis: 'measured' });
  });

  it('charges an estimate when the stream breaks, and fails the thought', async () => {
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half an answer that ' }));
      setImmediate(() => response.destroy());
    };
    const work = thinkWork();
    const thought = await thinkAbout(bench.bus, work);
    expect(thought).toMatchObject({ outcome: 'failed', costBasis: 'estimated', error: { code: 'model_unavailable' } });
    expect(BigInt(thought.costNanoUsd)).toBeGreaterThan(0n);
    expect(await ledgerOf(work.runId)).toMatchObject([
      { basis: 'estimated', stop_kind: 'broken', cost_nano_usd: thought.costNanoUsd, attempts: 1 },
    ]);
    expect(await countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: thought.costNanoUsd });
  });

  it('does not take a stream that ends early, or holds an error, for an answer', async () => {
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half' }));
      sendEvent(response, '[DONE]');
      response.end();
    };
    expect((await thinkAbout(bench.bus, thinkWork())).error?.code).toBe('model_bad_reply');
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half' }));
      sendEvent(response, { error: { message: 'overloaded', type: 'server_error' } });
      response.end();
    };
    expect((await thinkAbout(bench.bus, thinkWork())).error).toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining('overloaded'),
    });
  });

  it('estimates a whole reply that came without usage', async () => {
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'A whole answer.' }));
      sendEvent(response, chunk({}, 'stop'));
      sendEvent(response, '[DONE]');
      response.end();
    };
    const thought = await thinkAbout(bench.bus, thinkWork());
    expect(thought).toMatchObject({ outcome: 'reply', costBasis: 'estimated' });
    expect(thought.usage.outputTokens).toBeGreaterThan(0);
  });

  it('tells a refusal in the words of the provider, without the key', async () => {
    respond = failWith(401, 'Incorrect API key provided: sk-very-secret-value. Mend it.');
    const work = thinkWork();
    const thought = await thinkAbout(bench.bus, work);
    expect(thought.error).toMatchObject({ code: 'model_refused', message: expect.stringContaining('Mend it.') });
    expect(JSON.stringify(thought)).not.toContain('very-secret');
    expect(thought.costNanoUsd).toBe('0');
    expect(await countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: '0' });
  });

  it('tries again after 429 when asked to, and gives up after the configured tries', async () => {
    let tries = 0;
    respond = (response, request) => {
      tries += 1;
      const answer =
        tries === 1
          ? failWith(429, 'slow down', { 'retry-after-ms': '20' })
          : answerWith('Now.', { prompt_tokens: 1, completion_tokens: 1 });
      return answer(response, request);
    };
    expect(await thinkAbout(bench.bus, thinkWork())).toMatchObject({ outcome: 'reply', text: 'Now.' });
    expect(tries).toBe(2);

    tries = 0;
    respond = (response, request) => {
      tries += 1;
      return failWith(503, `down ${tries}`)(response, request);
    };
    const work = thinkWork();
    expect((await thinkAbout(bench.bus, work)).error).toEqual({
      code: 'model_unavailable',
      message: 'HTTP 503: down 1; after 2 tries: HTTP 503: down 2',
    });
    expect(tries).toBe(2);
    expect(await ledgerOf(work.runId)).toMatchObject([{ cost_nano_usd: '0', stop_kind: 'unavailable', attempts: 2 }]);
  });

  it('gives up on a model that falls silent, at the limit of the phase', async () => {
    await put(routeObject('hasty', { baseUrl: model.baseUrl }, { timeouts: { firstToken: '100ms', idle: '100ms' } }));
    const aborted = model.aborted;
    respond = (response) => {
      openStream(response);
      const pings = setInterval(() => response.write(': ping\n\n'), 20);
      response.on('close', () => clearInterval(pings));
    };
    const noToken = await thinkAbout(bench.bus, thinkWork({ route: 'hasty' }));
    expect(noToken.error?.message).toContain('no token within 0.1 s');
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Well' }));
    };
    const silent = await thinkAbout(bench.bus, thinkWork({ route: 'hasty' }));
    expect(silent.error?.message).toContain('fell silent');
    await eventually(() => model.aborted === aborted + 2);
  });

  it('lets go of the model when the run is cancelled, and charges what came', async () => {
    const aborted = model.aborted;
    const work = thinkWork();
    respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'A long ' }));
      const { runId, app } = work;
      const cancel = { v: 1 as const, kind: 'cancel' as const, runId, app, at: new Date().toISOString(), by: 'test' };
      void publishFact(bench.bus, cancel, newTraceContext());
    };
    const thought = await thinkAbout(bench.bus, work);
    expect(thought).toMatchObject({ outcome: 'failed', costBasis: 'estimated', error: { code: 'run_stopped' } });
    await eventually(() => model.aborted === aborted + 1);
    expect(await ledgerOf(work.runId)).toMatchObject([{ stop_kind: 'stopped', cost_nano_usd: thought.costNanoUsd }]);
  });

  it('keeps text that Postgres can not, and answers all the same', async () => {
    respond = answerWith('a\u0000b \ud800 c', { prompt_tokens: 1, completion_tokens: 1 });
    const work = thinkWork({ user: { id: 'eve\u0000' } });
    expect(await thinkAbout(bench.bus, work)).toMatchObject({ outcome: 'reply' });
    expect(await ledgerOf(work.runId)).toMatchObject([{ user_id: 'eve\ufffd' }]);
  });
});

describe('budgets', () => {
  it('name the level that refuses, and nothing is spent', async () => {
    const seen = model.seen.length;
    const ofRun = await thinkAbout(bench.bus, thinkWork({ runSpendLimitNanoUsd: '1000' }));
    expect(ofRun.error).toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining('The spend limit of the run'),
    });
    await put(
      budgetObject('tiny', { scope: { app: 'demo', agent: 'miser' }, limit: { amount: '0.000001', currency: 'USD' } }),
    );
    const ofBudget = await thinkAbout(bench.bus, thinkWork({ agent: 'miser' }));
    expect(ofBudget.error?.message).toContain('Budget "tiny" of app "demo" has 0.000001 USD left');
    expect(model.seen.length).toBe(seen);
  });

  it('lower the output limit to what fits', async () => {
    respond = answerWith('Short.', { prompt_tokens: 1, completion_tokens: 1 });
    // Room for the input's upper bound and some, not for 1,000 output tokens.
    const thought = await thinkAbout(bench.bus, thinkWork({ runSpendLimitNanoUsd: '400000' }));
    expect(thought.outcome).toBe('reply');
    const limit = Number(model.seen.at(-1)?.body['max_tokens']);
    expect(limit).toBeGreaterThanOrEqual(64);
    expect(limit).toBeLessThan(400);
  });

  it('hold against many calls at once: what is charged and held never passes the limit', async () => {
    // 4 dollars a million out, 940 tokens at most: a call needs nearly 0.004 USD of the 0.010.
    const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '4.00' };
    await put(routeObject('racy', { baseUrl: model.baseUrl, price }));
    await put(
      budgetObject('race', {
        scope: { app: 'demo', agent: 'racer' },
        limit: { amount: '0.010', currency: 'USD' },
        window: 'day',
      }),
    );
    respond = answerWith('Go.', { prompt_tokens: 10, completion_tokens: 1_000 });
    const second = await bench.startGateway();
    const works = Array.from({ length: 20 }, () =>
      thinkWork({ agent: 'racer', route: 'racy', maxOutputTokens: 1_000 }),
    );
    const state = () => callHttp(gateway.url, { path: '/v1/budgets/race/state', key: bench.appKey });
    const over: unknown[] = [];
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        const { body } = await state();
        const { held, spent } = body as unknown as Record<string, { nanoUsd: string }>;
        if (BigInt(held?.nanoUsd ?? 0) + BigInt(spent?.nanoUsd ?? 0) > 10_000_000n) over.push(body);
      }
    })();
    const thoughts = await Promise.all(works.map((work) => thinkAbout(bench.bus, work)));
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
});
