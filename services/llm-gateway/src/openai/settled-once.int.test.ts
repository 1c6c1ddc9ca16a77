/** Calls that are repeated, and clients that leave. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import type { ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, failWith, openStream, sendEvent } from '../testing/model-server.ts';
import { routeObject } from '../testing/gateway-bench.ts';
import { ask, openOpenAiBench, usage, type OpenAiBench } from '../testing/openai-bench.ts';

/** With time for it, how fast an endpoint is let go is measured; else only that it is. */
const letGoWithinMs = process.env['PAWL_TEST_FULL'] ? 250 : 10_000;

const servers = useTestServers();
let openAi: OpenAiBench;
let bench: ModelBench;
let client: OpenAI;

beforeAll(async () => {
  openAi = await openOpenAiBench(servers);
  ({ bench, client } = openAi);
});
afterAll(() => bench.close());

describe('an idempotency key', () => {
  it('gives the same answer again, asks and charges once, and belongs to one request', async () => {
    bench.respond = answerWith('Once.', usage);
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const first = await client.chat.completions.create(ask, { headers });
    const seen = bench.model.seen.length;
    const lines = (await openAi.ledger()).length;
    expect(await client.chat.completions.create(ask, { headers })).toEqual(first);
    const streamed = { ...ask, stream: true as const };
    await expect(client.chat.completions.create(streamed, { headers })).rejects.toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    });
    expect(bench.model.seen.length).toBe(seen);
    expect((await openAi.ledger()).length).toBe(lines);
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
  const anthropic = 'anthropic';
  beforeAll(() => bench.put(routeObject(anthropic, { baseUrl: bench.model.baseUrl, api: 'anthropic' })));

  it.each([
    { when: 'before the head', hasHead: false, chunks: 0, model: ask.model },
    { when: 'after 0 chunks', chunks: 0, model: ask.model },
    { when: 'after 5 chunks', chunks: 5, model: ask.model },
    { when: 'before the head', hasHead: false, chunks: 0, model: anthropic },
    { when: 'after 0 chunks', chunks: 0, model: anthropic },
  ])('M7: $when leaves one line, and the endpoint is let go at once ($model)', async (of) => {
    const { hasHead = true, chunks, model } = of;
    const aborted = bench.model.aborted;
    const arrived = Promise.withResolvers<void>();
    bench.respond = (response) => {
      if (hasHead) openStream(response);
      if (hasHead) response.flushHeaders();
      for (let word = 0; word < chunks; word += 1) sendEvent(response, chunk({ content: `word${word} ` }));
      arrived.resolve();
    };
    const lines = (await openAi.ledger()).length;
    const abort = new AbortController();
    const leaving = (async () => {
      const stream = await client.chat.completions.create({ ...ask, model, stream: true }, { signal: abort.signal });
      let text = '';
      for await (const { choices } of stream) {
        text += choices[0]?.delta.content ?? '';
        if (text.includes(`word${chunks - 1} `)) abort.abort();
      }
    })().catch(() => undefined);
    await arrived.promise;
    if (chunks === 0) abort.abort();
    await eventually(() => abort.signal.aborted);
    const leftAt = performance.now();
    await eventually(() => bench.model.aborted === aborted + 1);
    expect(performance.now() - leftAt).toBeLessThan(letGoWithinMs);
    await leaving;
    await eventually(async () => (await openAi.ledger()).length === lines + 1);
    expect((await openAi.ledger())[0]).toMatchObject({ stop_kind: 'client_abort', basis: 'estimated' });
    expect(await openAi.held()).toBe('0');
  });

  it.each([
    { when: 'before the head', hasHead: false },
    { when: 'while the reply comes', hasHead: true },
  ])('M7: who waits for a whole answer and resets the connection $when leaves one line, too', async ({ hasHead }) => {
    const aborted = bench.model.aborted;
    const arrived = Promise.withResolvers<void>();
    bench.respond = (response) => {
      if (hasHead) openStream(response);
      if (hasHead) sendEvent(response, chunk({ content: 'Half' }));
      arrived.resolve();
    };
    const lines = (await openAi.ledger()).length;
    const { hostname, port } = new URL(bench.gateway.url);
    const socket = connect(Number(port), hostname);
    const body = JSON.stringify(ask);
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      `host: ${hostname}`,
      `authorization: Bearer ${bench.appKey}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    await arrived.promise;
    socket.resetAndDestroy();
    await eventually(() => bench.model.aborted === aborted + 1);
    await eventually(async () => (await openAi.ledger()).length === lines + 1);
    expect((await openAi.ledger())[0]).toMatchObject({ stop_kind: 'client_abort', basis: 'estimated' });
    expect(await openAi.held()).toBe('0');
  });
});
