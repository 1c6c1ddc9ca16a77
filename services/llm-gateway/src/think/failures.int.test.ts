import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelRoute } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, failWith, openStream, sendEvent } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;

beforeAll(async () => {
  bench = await openModelBench(servers);
});
afterAll(() => bench.close());

describe('a model endpoint that fails', () => {
  it('charges an estimate when the stream breaks, and fails the thought', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half an answer that ' }));
      setImmediate(() => response.destroy());
    };
    const work = thinkWork();
    const thought = await bench.thinkAbout(work);
    expect(thought).toMatchObject({ outcome: 'failed', costBasis: 'estimated', error: { code: 'model_unavailable' } });
    expect(BigInt(thought.costNanoUsd)).toBeGreaterThan(0n);
    expect(await bench.ledgerOf(work.runId)).toMatchObject([
      { basis: 'estimated', stop_kind: 'upstream_error', cost_nano_usd: thought.costNanoUsd, attempts: 1 },
    ]);
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: thought.costNanoUsd });
  });

  it('does not take a stream that ends early, or holds an error, for an answer', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half' }));
      sendEvent(response, '[DONE]');
      response.end();
    };
    expect((await bench.thinkAbout(thinkWork())).error?.code).toBe('model_bad_reply');
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half' }));
      sendEvent(response, { error: { message: 'overloaded', type: 'server_error' } });
      response.end();
    };
    expect((await bench.thinkAbout(thinkWork())).error).toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining('overloaded'),
    });
  });

  it('estimates a whole reply that came without usage', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'A whole answer.' }));
      sendEvent(response, chunk({}, 'stop'));
      sendEvent(response, '[DONE]');
      response.end();
    };
    const thought = await bench.thinkAbout(thinkWork());
    expect(thought).toMatchObject({ outcome: 'reply', costBasis: 'estimated' });
    expect(thought.usage.outputTokens).toBeGreaterThan(0);
  });

  it('tells a refusal in the words of the provider, without the key', async () => {
    bench.respond = failWith(401, 'Incorrect API key provided: sk-very-secret-value. Mend it.');
    const work = thinkWork();
    const thought = await bench.thinkAbout(work);
    expect(thought.error).toMatchObject({ code: 'model_refused', message: expect.stringContaining('Mend it.') });
    expect(JSON.stringify(thought)).not.toContain('very-secret');
    expect(thought.costNanoUsd).toBe('0');
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: '0' });
  });

  it('tries again after 429 when asked to, and gives up after the configured tries', async () => {
    let tries = 0;
    bench.respond = (response, request) => {
      tries += 1;
      const answer =
        tries === 1
          ? failWith(429, 'slow down', { 'retry-after-ms': '20' })
          : answerWith('Now.', { prompt_tokens: 1, completion_tokens: 1 });
      return answer(response, request);
    };
    expect(await bench.thinkAbout(thinkWork())).toMatchObject({ outcome: 'reply', text: 'Now.' });
    expect(tries).toBe(2);

    tries = 0;
    bench.respond = (response, request) => {
      tries += 1;
      return failWith(503, `down ${tries}`)(response, request);
    };
    const work = thinkWork();
    expect((await bench.thinkAbout(work)).error).toEqual({
      code: 'model_unavailable',
      message: 'HTTP 503: down 1; after 2 tries: HTTP 503: down 2',
    });
    expect(tries).toBe(2);
    expect(await bench.ledgerOf(work.runId)).toMatchObject([
      { cost_nano_usd: '0', stop_kind: 'unavailable', attempts: 2 },
    ]);
  });

  // Each route has one short limit, so that no other can be hit first, however slow the machine is.
  const putHasty = (name: string, timeouts: ModelRoute['spec']['timeouts']) =>
    bench.put(routeObject(name, { baseUrl: bench.model.baseUrl }, { timeouts }));

  it('gives up on a model that falls silent, at the limit of the phase', async () => {
    await putHasty('hasty-first', { firstToken: '100ms' });
    await putHasty('hasty-idle', { idle: '100ms' });
    const aborted = bench.model.aborted;
    bench.respond = (response) => {
      openStream(response);
      const pings = setInterval(() => response.write(': ping\n\n'), 20);
      response.on('close', () => clearInterval(pings));
    };
    const noToken = await bench.thinkAbout(thinkWork({ route: 'hasty-first' }));
    expect(noToken.error?.message).toContain('no token within 0.1 s');
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Well' }));
    };
    const silent = await bench.thinkAbout(thinkWork({ route: 'hasty-idle' }));
    expect(silent.error?.message).toContain('fell silent');
    await eventually(() => bench.model.aborted === aborted + 2);
  });

  it('gives up on a model that takes the request and never answers, or never ends', async () => {
    await putHasty('hasty-headers', { headers: '150ms' });
    await putHasty('hasty-total', { total: '400ms' });
    bench.respond = () => {};
    const noHead = await bench.thinkAbout(thinkWork({ route: 'hasty-headers' }));
    expect(noHead.error).toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining('within 0.15 s'),
    });
    bench.respond = (response) => {
      openStream(response);
      const talking = setInterval(() => sendEvent(response, chunk({ content: 'and ' })), 20);
      response.on('close', () => clearInterval(talking));
    };
    const endless = await bench.thinkAbout(thinkWork({ route: 'hasty-total' }));
    expect(endless.error?.message).toContain('longer than 0.4 s');
    const late = thinkWork({ deadlineAt: new Date(Date.now() + 250).toISOString() });
    expect((await bench.thinkAbout(late)).error).toMatchObject({ code: 'deadline' });
  });

  it('gives up on a connection that does not come about, having tried twice, free of charge', async () => {
    // A server that accepts and never shakes hands.
    let connections = 0;
    const silent = createServer(() => (connections += 1));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const baseUrl = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`;
    await bench.put(routeObject('deaf', { baseUrl }, { timeouts: { connect: '100ms' } }));
    const work = thinkWork({ route: 'deaf' });
    const thought = await bench.thinkAbout(work);
    expect(thought.error).toMatchObject({
      code: 'model_unavailable',
      message: expect.stringContaining('took too long'),
    });
    expect(thought.costNanoUsd).toBe('0');
    await eventually(() => connections === 2);
    silent.close();
  });

  it('keeps a whole reply although the stream never closes', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'All of it.' }, 'stop'));
    };
    await putHasty('hasty-idle', { idle: '100ms' });
    const thought = await bench.thinkAbout(thinkWork({ route: 'hasty-idle' }));
    expect(thought).toMatchObject({ outcome: 'reply', text: 'All of it.', costBasis: 'estimated' });
  });
});
