/** The wire, as the official client sees it. */
import { randomBytes } from 'node:crypto';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { budgetObject, callHttp, dollarPrice, routeObject } from '../testing/gateway-bench.ts';
import type { ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, openStream, sendEvent, usageChunk } from '../testing/model-server.ts';
import { ask, openOpenAiBench, usage, type OpenAiBench } from '../testing/openai-bench.ts';

const servers = useTestServers();
let openAi: OpenAiBench;
let bench: ModelBench;
let client: OpenAI;

beforeAll(async () => {
  openAi = await openOpenAiBench(servers);
  ({ bench, client } = openAi);
});
afterAll(() => bench.close());

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
    expect((await openAi.ledger())[0]).toMatchObject({
      agent: null,
      purpose: 'chat',
      cost_nano_usd: '45000',
      stop_kind: 'complete',
    });
    expect(await openAi.held()).toBe('0');
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
    expect((await openAi.ledger())[0]).toMatchObject({ output_tokens: '6', cost_nano_usd: '16000' });
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

  it('takes earlier replies as they were given, refusals included', async () => {
    bench.respond = answerWith('Yes.', usage);
    const { choices } = await client.chat.completions.create(ask);
    const earlier = choices[0]?.message;
    if (!earlier) throw new TypeError('no reply');
    const refused = { role: 'assistant' as const, content: [{ type: 'refusal' as const, refusal: 'No.' }] };
    await client.chat.completions.create({
      ...ask,
      messages: [...ask.messages, earlier, refused, { ...earlier, content: null, refusal: 'Never.' }, ...ask.messages],
    });
    expect(bench.model.seen.at(-1)?.body['messages']).toEqual([
      ...ask.messages,
      { role: 'assistant', content: 'Yes.' },
      { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
      { role: 'assistant', content: 'Never.' },
      ...ask.messages,
    ]);
  });

  it('is for a user and a run, when the headers say so', async () => {
    bench.respond = answerWith('Yes.', usage);
    await bench.put(
      budgetObject('eve', { scope: { app: 'demo', user: 'eve' }, limit: { amount: '0.000045', currency: 'USD' } }),
    );
    const runId = `run_${randomBytes(16).toString('hex')}`;
    const headers = { 'x-pawl-user': 'bob', 'x-pawl-run': runId };
    await client.chat.completions.create(ask, { headers });
    expect((await openAi.ledger())[0]).toMatchObject({ user_id: 'bob', for_run_id: runId });
    const bad = client.chat.completions.create(ask, { headers: { 'x-pawl-run': 'nonsense' } });
    await expect(bad).rejects.toMatchObject({ status: 400, param: 'x-pawl-run' });
    await expect(client.chat.completions.create(ask, { headers: { 'x-pawl-user': 'eve' } })).rejects.toMatchObject({
      status: 402,
    });
  });
});

it('M6: a reply costs the same, unary, streamed, and where its stream breaks once it is whole', async () => {
  let isBroken = false;
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
    if (isBroken) return void response.write(': nothing follows\n\n', () => response.destroy());
    sendEvent(response, '[DONE]');
    response.end();
  };
  const price = { ...dollarPrice, cachedInputPerMillion: '0.10', outputPerMillion: '2.00' };
  await bench.put(routeObject('cached', { baseUrl: bench.model.baseUrl, price }));
  const unary = await client.chat.completions.create({ ...ask, model: 'cached' });
  await client.chat.completions.stream({ ...ask, model: 'cached' }).finalChatCompletion();
  isBroken = true;
  await client.chat.completions.create({ ...ask, model: 'cached' });
  const lines = (await openAi.ledger()).slice(0, 3);
  // M5: 4,459 fresh, 9,216 cached, 1,970 out of which reasoning is a part.
  const cost = String(4_459 * 1_000 + 9_216 * 100 + 1_970 * 2_000);
  expect(lines.map((line) => line['cost_nano_usd'])).toEqual([cost, cost, cost]);
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
