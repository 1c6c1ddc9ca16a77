/** The wire, as the official client sees it. */
import { randomBytes } from 'node:crypto';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { budgetObject, callHttp, dollarPrice, routeObject } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, failWith, openStream, sendEvent, usageChunk } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;
let client: OpenAI;
let waited: number[] = [];

beforeAll(async () => {
  bench = await openModelBench(servers);
  await bench.put(routeObject('smart', { baseUrl: bench.model.baseUrl, model: 'big-1' }));
  client = new OpenAI({ apiKey: bench.appKey, baseURL: `${bench.gateway.url}/v1`, maxRetries: 2, logLevel: 'off' });
});
afterAll(() => bench.close());

const messages = [{ role: 'user' as const, content: 'Why did sales drop?' }];
const ask = { model: 'smart', messages };
const usage = { prompt_tokens: 40, completion_tokens: 5 };
const ledger = () =>
  bench.database.query<Record<string, unknown>>(
    `select * from gateway.ledger where run_id like 'chat_%' order by at desc`,
  );
const held = async () =>
  (await bench.database.query<{ held: string }>('select coalesce(sum(held), 0) as held from gateway.counters'))[0]
    ?.held;
/** Every request that the client really sends. */
const countingClient = () => {
  waited = [];
  return new OpenAI({
    apiKey: bench.appKey,
    baseURL: `${bench.gateway.url}/v1`,
    maxRetries: 2,
    logLevel: 'off',
    fetch: async (url, init) => {
      waited.push(performance.now());
      return await fetch(url, init);
    },
  });
};

describe('a chat completion', () => {
  it('answers, charges once and tells the usage', async () => {
    bench.respond = answerWith('It is line C.', usage);
    const completion = await client.chat.completions.create({ ...ask, temperature: 0.2, stop: ['END'], seed: 7 });
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'smart',
      choices: [{ index: 0, message: { role: 'assistant', content: 'It is line C.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 40, completion_tokens: 5, total_tokens: 45 },
    });
    expect(bench.model.seen.at(-1)?.body).toMatchObject({ model: 'big-1', temperature: 0.2, stop: ['END'], seed: 7 });
    expect((await ledger())[0]).toMatchObject({
      agent: null,
      purpose: 'chat',
      cost_nano_usd: '45000',
      stop_kind: 'complete',
    });
    expect(await held()).toBe('0');
  });

  it('names a model of a route just as well, and lists what may be named', async () => {
    bench.respond = answerWith('Yes.', usage);
    expect((await client.chat.completions.create({ ...ask, model: 'big-1' })).model).toBe('big-1');
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['smart', 'big-1']));
    expect(await client.models.retrieve('big-1')).toMatchObject({ id: 'big-1', object: 'model', owned_by: 'sim' });
    await expect(client.models.retrieve('nothing')).rejects.toMatchObject({ status: 404, code: 'not_found' });
    await expect(client.chat.completions.create({ ...ask, model: 'nothing' })).rejects.toMatchObject({
      status: 404,
      code: 'unknown_route',
      param: 'model',
    });
  });

  it('streams, with usage for those who ask', async () => {
    bench.respond = answerWith('It is line C.', usage);
    const stream = await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('It is line C.');
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 40, completion_tokens: 5 } });
    const plain = await Array.fromAsync(await client.chat.completions.create({ ...ask, stream: true }));
    expect(plain.every((one) => one.usage === undefined)).toBe(true);
  });

  it('M10: puts parallel calls together for both forms, however the endpoint labels them', async () => {
    bench.respond = (response) => {
      openStream(response);
      const fragment = (call: object) => sendEvent(response, chunk({ tool_calls: [call] }));
      fragment({ index: 0, id: 'a', function: { name: 'first', arguments: '{"x"' } });
      fragment({ index: 0, id: 'b', function: { name: 'second', arguments: '{' } });
      fragment({ id: 'c', function: { name: 'third', arguments: '{}' } });
      fragment({ index: 0, id: 'a', function: { arguments: ':1}' } });
      fragment({ index: 0, id: 'b', function: { arguments: '}' } });
      sendEvent(response, chunk({}, 'tool_calls'));
      sendEvent(response, usageChunk({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }));
      sendEvent(response, '[DONE]');
      response.end();
    };
    const tools = ['first', 'second', 'third'].map((name) => ({ type: 'function' as const, function: { name } }));
    const expected = [
      { id: 'a', type: 'function', function: { name: 'first', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'second', arguments: '{}' } },
      { id: 'c', type: 'function', function: { name: 'third', arguments: '{}' } },
    ];
    const request = { ...ask, tools, tool_choice: 'required' as const, parallel_tool_calls: true };
    const unary = await client.chat.completions.create(request);
    expect(unary.choices[0]?.message.tool_calls).toEqual(expected);
    expect(unary.choices[0]?.finish_reason).toBe('tool_calls');
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject(expected);
    expect(bench.model.seen.at(-1)?.body).toMatchObject({ tool_choice: 'required', parallel_tool_calls: true });
  });

  it('asks for several choices, and holds and charges for all of them', async () => {
    bench.respond = (response, { body }) => {
      expect(body['n']).toBe(2);
      openStream(response);
      for (const index of [1, 0]) {
        sendEvent(response, {
          id: 'r',
          choices: [{ index, delta: { content: `choice ${index}` }, finish_reason: null }],
        });
        sendEvent(response, { id: 'r', choices: [{ index, delta: {}, finish_reason: 'stop' }] });
      }
      sendEvent(response, usageChunk({ prompt_tokens: 10, completion_tokens: 6, total_tokens: 16 }));
      response.end();
    };
    const completion = await client.chat.completions.create({ ...ask, n: 2 });
    expect(completion.choices.map(({ message }) => message.content)).toEqual(['choice 0', 'choice 1']);
    expect((await ledger())[0]).toMatchObject({ output_tokens: '6', cost_nano_usd: '16000' });
  });

  it('passes a JSON Schema on, so that structured answers parse', async () => {
    bench.respond = answerWith('{"cause":"C"}', usage);
    const json_schema = { name: 'cause', schema: { type: 'object', properties: { cause: { type: 'string' } } } };
    const completion = await client.chat.completions.parse({
      ...ask,
      response_format: { type: 'json_schema', json_schema },
    });
    expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toEqual({ cause: 'C' });
    expect(bench.model.seen.at(-1)?.body).toMatchObject({ response_format: { type: 'json_schema', json_schema } });
  });

  it('is for a user and a run, when the headers say so', async () => {
    bench.respond = answerWith('Yes.', usage);
    await bench.put(
      budgetObject('eve', { scope: { app: 'demo', user: 'eve' }, limit: { amount: '0.000045', currency: 'USD' } }),
    );
    const runId = `run_${randomBytes(16).toString('hex')}`;
    const headers = { 'x-pawl-user': 'bob', 'x-pawl-run': runId };
    await client.chat.completions.create(ask, { headers });
    expect((await ledger())[0]).toMatchObject({ user_id: 'bob', for_run_id: runId });
    const bad = client.chat.completions.create(ask, { headers: { 'x-pawl-run': 'nonsense' } });
    await expect(bad).rejects.toMatchObject({ status: 400, param: 'x-pawl-run' });
    await expect(client.chat.completions.create(ask, { headers: { 'x-pawl-user': 'eve' } })).rejects.toMatchObject({
      status: 402,
    });
  });
});

describe('errors on the wire', () => {
  it('M16: a budget refusal is not retried, and its code is readable', async () => {
    await bench.put(
      budgetObject('tiny', { scope: { app: 'demo', user: 'miser' }, limit: { amount: '0.000001', currency: 'USD' } }),
    );
    const refused = await countingClient()
      .chat.completions.create(ask, { headers: { 'x-pawl-user': 'miser' } })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 402, code: 'budget_exceeded', type: 'insufficient_quota' });
    expect((refused as Error).message).toContain('Budget "tiny" of app "demo" has 0.000001 USD left');
    expect((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry')).toBe('false');
    expect(waited).toHaveLength(1);
  });

  it('M16: a rate limit is retried after what Retry-After says', async () => {
    let times = 0;
    bench.respond = (response, request) => {
      times += 1;
      if (times === 1) return failWith(429, 'slow down', { 'retry-after-ms': '150' })(response, request);
      return answerWith('Yes.', usage)(response, request);
    };
    await bench.put(routeObject('once', { baseUrl: bench.model.baseUrl, model: 'once-1' }, { retry: { max: 0 } }));
    const completion = await countingClient().chat.completions.create({ ...ask, model: 'once' });
    expect(completion.choices[0]?.message.content).toBe('Yes.');
    expect(waited).toHaveLength(2);
    expect((waited[1] ?? 0) - (waited[0] ?? 0)).toBeGreaterThanOrEqual(150);
  });

  it('M16: a rate limit of our own names the time at which to come back', async () => {
    bench.respond = answerWith('Yes.', usage);
    await bench.put(
      budgetObject('rpm', { scope: { app: 'demo', user: 'hasty' }, limit: { calls: 1 }, window: 'minute' }),
    );
    const headers = { 'x-pawl-user': 'hasty' };
    const impatient = new OpenAI({
      apiKey: bench.appKey,
      baseURL: `${bench.gateway.url}/v1`,
      maxRetries: 0,
      logLevel: 'off',
    });
    // A minute may end between two calls: then the third is the second of its minute.
    const results = [];
    for (let times = 0; times < 3; times += 1) {
      results.push(await impatient.chat.completions.create(ask, { headers }).catch((error: unknown) => error));
    }
    const refused = results.filter((result) => result instanceof OpenAI.RateLimitError);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeLessThanOrEqual(61);
  });

  it('M4: an unpriced model is refused, an explicit price of 0 is not', async () => {
    const { price: _price, ...unpriced } = routeObject('u', { baseUrl: bench.model.baseUrl }).spec.candidates[0] ?? {};
    await bench.put({ ...routeObject('unpriced', {}), spec: { candidates: [unpriced] } } as never);
    await expect(countingClient().chat.completions.create({ ...ask, model: 'unpriced' })).rejects.toMatchObject({
      status: 400,
      code: 'model_price_unknown',
    });
    expect(waited).toHaveLength(1);
    bench.respond = answerWith('Free.', usage);
    await bench.put(
      routeObject('free', {
        baseUrl: bench.model.baseUrl,
        price: { ...dollarPrice, inputPerMillion: '0', outputPerMillion: '0' },
      }),
    );
    expect((await client.chat.completions.create({ ...ask, model: 'free' })).usage?.total_tokens).toBe(45);
  });

  it('says what it does not take, by name', async () => {
    const take = (extra: object) => client.chat.completions.create({ ...ask, ...extra } as never);
    await expect(take({ service_tier: 'flex' })).rejects.toMatchObject({ status: 400, param: 'service_tier' });
    await expect(take({ web_search_options: {} })).rejects.toMatchObject({ status: 400, code: 'invalid_request' });
    await expect(take({ logprobs: true })).rejects.toMatchObject({ status: 400, param: 'logprobs' });
    await expect(take({ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] })).rejects.toMatchObject({
      status: 400,
    });
    await expect(take({ model: 'agent:helper' })).rejects.toMatchObject({ status: 422, code: 'not_supported' });
    const stranger = new OpenAI({ apiKey: 'wrong', baseURL: `${bench.gateway.url}/v1`, logLevel: 'off' });
    await expect(stranger.chat.completions.create(ask)).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it('M12: half an answer is an error to the client, and truncated in the books', async () => {
    bench.respond = (response) => {
      openStream(response);
      for (let word = 0; word < 40; word += 1) sendEvent(response, chunk({ content: `word${word} ` }));
      response.end();
    };
    const raw = await fetch(`${bench.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bench.appKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...ask, stream: true }),
    });
    const text = await raw.text();
    expect(text).toContain('word39');
    expect(text).toContain('"code":"model_bad_reply"');
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('finish_reason":"stop"');
    expect((await ledger())[0]).toMatchObject({ stop_kind: 'truncated', basis: 'estimated' });
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toMatchObject({ code: 'model_bad_reply' });
    const unary = await client.chat.completions.create(ask, { maxRetries: 0 }).catch((error: unknown) => error);
    expect(unary).toMatchObject({ status: 502, code: 'model_bad_reply' });
  });

  it('M18: bodies over a mebibyte pass, and those over the limit get a clear 413', async () => {
    bench.respond = answerWith('Long.', usage);
    const price = { ...dollarPrice, inputPerMillion: '0' };
    await bench.put(routeObject('roomy', { baseUrl: bench.model.baseUrl, price }));
    const long = (bytes: number) => ({
      model: 'roomy',
      messages: [{ role: 'user' as const, content: 'x'.repeat(bytes) }],
    });
    expect((await client.chat.completions.create(long(2 ** 20 + 1))).choices[0]?.message.content).toBe('Long.');
    expect((await client.chat.completions.create(long(20 * 2 ** 20))).choices[0]?.message.content).toBe('Long.');
    const refused = await client.chat.completions.create(long(33 * 2 ** 20)).catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 413, code: 'body_too_large', message: expect.stringContaining('32 MiB') });
  });
});

describe('an idempotency key', () => {
  it('gives the same answer again, asks and charges once, and belongs to one request', async () => {
    bench.respond = answerWith('Once.', usage);
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const first = await client.chat.completions.create(ask, { headers });
    const seen = bench.model.seen.length;
    const lines = (await ledger()).length;
    expect(await client.chat.completions.create(ask, { headers })).toEqual(first);
    const streamed = { ...ask, stream: true as const };
    await expect(client.chat.completions.create(streamed, { headers })).rejects.toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    });
    expect(bench.model.seen.length).toBe(seen);
    expect((await ledger()).length).toBe(lines);
  });

  it('M8: makes one of calls at the same time, and none of a failed one', async () => {
    const gate = Promise.withResolvers<void>();
    bench.respond = async (response, request) => {
      await gate.promise;
      return answerWith('Once.', usage)(response, request);
    };
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const seen = bench.model.seen.length;
    const first = client.chat.completions.create(ask, { headers });
    await eventually(() => bench.model.seen.length === seen + 1);
    await expect(client.chat.completions.create(ask, { headers, maxRetries: 0 })).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
    });
    gate.resolve();
    await first;
    expect(bench.model.seen.length).toBe(seen + 1);

    const again = { 'idempotency-key': randomBytes(8).toString('hex') };
    bench.respond = failWith(401, 'no');
    await expect(client.chat.completions.create(ask, { headers: again })).rejects.toMatchObject({
      code: 'model_refused',
    });
    bench.respond = answerWith('Now.', usage);
    const answered = await client.chat.completions.create(ask, { headers: again });
    expect(answered.choices[0]?.message.content).toBe('Now.');
  });
});

describe('a client that leaves', () => {
  it.each([0, 5])('M7: after %i chunks leaves one line, and the endpoint is let go at once', async (chunks) => {
    const aborted = bench.model.aborted;
    const arrived = Promise.withResolvers<void>();
    bench.respond = (response) => {
      openStream(response);
      response.flushHeaders();
      for (let word = 0; word < chunks; word += 1) sendEvent(response, chunk({ content: `word${word} ` }));
      arrived.resolve();
    };
    const lines = (await ledger()).length;
    const abort = new AbortController();
    const leaving = (async () => {
      const stream = await client.chat.completions.create({ ...ask, stream: true }, { signal: abort.signal });
      let seen = 0;
      for await (const { id } of stream) if (id !== '' && (seen += 1) === chunks) abort.abort();
    })().catch(() => undefined);
    await arrived.promise;
    const leftAt = performance.now();
    if (chunks === 0) abort.abort();
    await eventually(() => bench.model.aborted === aborted + 1);
    expect(performance.now() - leftAt).toBeLessThan(2_000);
    await leaving;
    await eventually(async () => (await ledger()).length === lines + 1);
    expect((await ledger())[0]).toMatchObject({ stop_kind: 'client_abort', basis: 'estimated' });
    expect(await held()).toBe('0');
  });
});

it('M6: a reply costs the same, unary and streamed', async () => {
  const billed = { prompt_tokens: 13_675, completion_tokens: 1_970 };
  bench.respond = (response) => {
    openStream(response);
    sendEvent(response, chunk({ content: 'Long.' }));
    sendEvent(response, chunk({}, 'stop'));
    const details = {
      prompt_tokens_details: { cached_tokens: 9_216 },
      completion_tokens_details: { reasoning_tokens: 956 },
    };
    sendEvent(response, usageChunk({ ...billed, total_tokens: 15_645, ...details }));
    sendEvent(response, '[DONE]');
    response.end();
  };
  const price = { ...dollarPrice, cachedInputPerMillion: '0.10', outputPerMillion: '2.00' };
  await bench.put(routeObject('cached', { baseUrl: bench.model.baseUrl, price }));
  const unary = await client.chat.completions.create({ ...ask, model: 'cached' });
  await client.chat.completions.stream({ ...ask, model: 'cached' }).finalChatCompletion();
  const [streamedLine, unaryLine] = await ledger();
  // M5: 4,459 fresh, 9,216 cached, 1,970 out of which reasoning is a part.
  const cost = String(4_459 * 1_000 + 9_216 * 100 + 1_970 * 2_000);
  expect([streamedLine?.['cost_nano_usd'], unaryLine?.['cost_nano_usd']]).toEqual([cost, cost]);
  expect(unary.usage).toMatchObject({
    prompt_tokens_details: { cached_tokens: 9_216 },
    completion_tokens_details: { reasoning_tokens: 956 },
  });
});

it('M2: many calls at once without a limit of their own all fit into a large budget', async () => {
  bench.respond = answerWith('Yes.', usage);
  await bench.put(
    budgetObject('large', { scope: { app: 'demo', user: 'crowd' }, limit: { amount: '1.00', currency: 'USD' } }),
  );
  const headers = { 'x-pawl-user': 'crowd' };
  const all = await Promise.all(
    Array.from({ length: 10 }, () => client.chat.completions.create(ask, { headers, maxRetries: 0 })),
  );
  expect(all).toHaveLength(10);
  const state = await callHttp(bench.gateway.url, { path: '/v1/budgets/large/state', key: bench.appKey });
  expect(state.body).toMatchObject({ held: { nanoUsd: '0' }, spent: { nanoUsd: '450000' } });
});
