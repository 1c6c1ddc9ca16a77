/** Errors on the wire, as the official client sees them. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { budgetObject, dollarPrice, routeObject } from '../testing/gateway-bench.ts';
import type { ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, failWith, openStream, sendEvent } from '../testing/model-server.ts';
import { ask, openOpenAiBench, usage, type OpenAiBench } from '../testing/openai-bench.ts';

/** Clients at once. */
const crowd = process.env['PAWL_TEST_FULL'] ? 200 : 20;

const servers = useTestServers();
let openAi: OpenAiBench;
let bench: ModelBench;
let client: OpenAI;

beforeAll(async () => {
  openAi = await openOpenAiBench(servers);
  ({ bench, client } = openAi);
});
afterAll(() => bench.close());

describe('errors on the wire', () => {
  it('M16: a budget refusal is not retried, and its code is readable', async () => {
    const { client: counting, sentAtMs } = openAi.countingClient();
    await bench.put(
      budgetObject('tiny', { scope: { app: 'demo', user: 'miser' }, limit: { amount: '0.000001', currency: 'USD' } }),
    );
    const refused = await counting.chat.completions
      .create(ask, { headers: { 'x-pawl-user': 'miser' } })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 402, code: 'budget_exceeded', type: 'insufficient_quota' });
    expect((refused as Error).message).toContain('Budget "tiny" of app "demo" has 0.000001 USD left');
    expect((refused as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry')).toBe('false');
    expect((refused as InstanceType<typeof OpenAI.APIError>).requestID).toMatch(/^req_[0-9a-f]{32}$/);
    expect(sentAtMs).toHaveLength(1);
  });

  it('M16: a rate limit is retried after what Retry-After says', async () => {
    const { client: counting, sentAtMs } = openAi.countingClient();
    let times = 0;
    bench.respond = (response, request) => {
      times += 1;
      if (times === 1) return failWith(429, 'slow down', { 'retry-after-ms': '150' })(response, request);
      return answerWith('Yes.', usage)(response, request);
    };
    await bench.put(routeObject('once', { baseUrl: bench.model.baseUrl, model: 'once-1' }, { retry: { max: 0 } }));
    const completion = await counting.chat.completions.create({ ...ask, model: 'once' });
    expect(completion.choices[0]?.message.content).toBe('Yes.');
    expect(sentAtMs).toHaveLength(2);
    expect((sentAtMs[1] ?? 0) - (sentAtMs[0] ?? 0)).toBeGreaterThanOrEqual(150);
  });

  it('M15: a crowd that is told to come back does, each no sooner than it was asked to, and spread', async () => {
    const firstAtMs = new Map<string, number>();
    const pausesMs: number[] = [];
    bench.respond = (response, request) => {
      const [{ content }] = request.body['messages'] as [{ content: string }];
      const before = firstAtMs.get(content);
      firstAtMs.set(content, before ?? performance.now());
      if (before === undefined) return failWith(429, 'slow down', { 'retry-after-ms': '1000' })(response, request);
      pausesMs.push(performance.now() - before);
      return answerWith('Yes.', usage)(response, request);
    };
    await bench.put(routeObject('crowd', { baseUrl: bench.model.baseUrl, model: 'crowd-1' }, { retry: { max: 1 } }));
    const asked = Array.from({ length: crowd }, async (_, at) => {
      const messages = [{ role: 'user' as const, content: `I am client ${at}.` }];
      return await client.chat.completions.create({ model: 'crowd', messages }, { maxRetries: 0 });
    });
    expect(await Promise.all(asked)).toHaveLength(crowd);
    expect(pausesMs).toHaveLength(crowd);
    expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(999);
    expect(Math.max(...pausesMs) - Math.min(...pausesMs)).toBeGreaterThan(50);
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
    const { client: counting, sentAtMs } = openAi.countingClient();
    const { price: _price, ...unpriced } = routeObject('u', { baseUrl: bench.model.baseUrl }).spec.candidates[0] ?? {};
    await bench.put({ ...routeObject('unpriced', {}), spec: { candidates: [unpriced] } } as never);
    await expect(counting.chat.completions.create({ ...ask, model: 'unpriced' })).rejects.toMatchObject({
      status: 400,
      code: 'model_price_unknown',
    });
    expect(sentAtMs).toHaveLength(1);
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
    await expect(take({ web_search_options: {} })).rejects.toMatchObject({ status: 400, param: 'web_search_options' });
    await expect(take({ functions: [] })).rejects.toMatchObject({ status: 400, param: 'functions' });
    await expect(take({ logprobs: true })).rejects.toMatchObject({ status: 400, param: 'logprobs' });
    await expect(take({ messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] })).rejects.toMatchObject({
      status: 400,
      param: 'messages.0.content.0.type',
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
    expect((await openAi.ledger())[0]).toMatchObject({ stop_kind: 'truncated', basis: 'estimated' });
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
    // Also where the length is not told before.
    const pieces = await fetch(`${bench.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bench.appKey}`, 'content-type': 'application/json' },
      body: new Blob([JSON.stringify(long(2 * 2 ** 20))]).stream(),
      duplex: 'half',
    });
    expect(pieces.status).toBe(200);
  });
});
