import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishFact, publishWork, subscribeDeltas } from '@pawl/bus';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { routeObject, thinkWork } from './testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from './testing/model-bench.ts';
import { answerWith, chunk, openStream, sendEvent, usageChunk } from './testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;

beforeAll(async () => {
  bench = await openModelBench(servers);
});
afterAll(() => bench.close());

describe('think work', () => {
  it('becomes a thought with text, usage, cost and route, and one line in the books', async () => {
    bench.respond = answerWith('It is line C.', { prompt_tokens: 40, completion_tokens: 5 });
    const work = thinkWork();
    const deltas: string[] = [];
    const unsubscribe = subscribeDeltas(bench.bus, work, ({ text }) => deltas.push(text));
    await bench.bus.connection.flush();
    const thought = await bench.thinkAbout(work);
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
    expect(await bench.ledgerOf(work.runId)).toMatchObject([
      { cost_nano_usd: '45000', basis: 'measured', stop_kind: 'complete' },
    ]);
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: '45000' });
    const sent = bench.model.seen.at(-1);
    expect(sent?.authorization).toBe('Bearer sk-very-secret-value');
    expect(sent?.body).toMatchObject({ max_tokens: 1_000, stream: true, stream_options: { include_usage: true } });
  });

  it('is charged once and asked once, however often it is delivered', async () => {
    bench.respond = answerWith('Once.', { prompt_tokens: 10, completion_tokens: 2 });
    const work = thinkWork();
    const first = await bench.thinkAbout(work);
    const seen = bench.model.seen.length;
    for (let again = 0; again < 3; again += 1) {
      await eventually(async () => (await publishWork(bench.bus, work, newTraceContext())) === 'written');
    }
    await eventually(async () => (await bench.bus.jsm.streams.info('THINK')).state.messages === 0);
    expect(bench.model.seen.length).toBe(seen);
    expect(await bench.ledgerOf(work.runId)).toHaveLength(1);
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: first.costNanoUsd });
  });

  it('puts parallel tool calls together from interleaved fragments', async () => {
    bench.respond = (response) => {
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
    const thought = await bench.thinkAbout(thinkWork());
    expect(thought.calls).toEqual([
      { id: 'a', tool: 'first', args: '{"x":1}' },
      { id: 'b', tool: 'second', args: '{}' },
    ]);
  });

  it('fails without spending when the route, the price or the secret is missing', async () => {
    const seen = bench.model.seen.length;
    expect((await bench.thinkAbout(thinkWork({ route: 'nowhere' }))).error?.code).toBe('unknown_route');
    const { price: _price, ...unpriced } =
      routeObject('unpriced', { baseUrl: bench.model.baseUrl }).spec.candidates[0] ?? {};
    await bench.put({ ...routeObject('unpriced', {}), spec: { candidates: [unpriced] } } as never);
    expect((await bench.thinkAbout(thinkWork({ route: 'unpriced' }))).error?.code).toBe('model_price_unknown');
    await bench.put(routeObject('secretless', { baseUrl: bench.model.baseUrl, apiKey: '${secret:NOT_THERE}' }));
    expect((await bench.thinkAbout(thinkWork({ route: 'secretless' }))).error?.code).toBe('secret_missing');
    expect(bench.model.seen.length).toBe(seen);
  });

  it('takes an explicit price of zero', async () => {
    bench.respond = answerWith('Free.', { prompt_tokens: 10, completion_tokens: 2 });
    const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '0' };
    await bench.put(routeObject('free', { baseUrl: bench.model.baseUrl, price }));
    const thought = await bench.thinkAbout(thinkWork({ route: 'free', runSpendLimitNanoUsd: '0' }));
    expect(thought).toMatchObject({ outcome: 'reply', costNanoUsd: '0', costBasis: 'measured' });
  });

  it('lets go of the model when the run is cancelled, and charges what came', async () => {
    const aborted = bench.model.aborted;
    const work = thinkWork();
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'A long ' }));
      const { runId, app } = work;
      const cancel = { v: 1 as const, kind: 'cancel' as const, runId, app, at: new Date().toISOString(), by: 'test' };
      void publishFact(bench.bus, cancel, newTraceContext());
    };
    const thought = await bench.thinkAbout(work);
    expect(thought).toMatchObject({ outcome: 'failed', costBasis: 'estimated', error: { code: 'run_stopped' } });
    await eventually(() => bench.model.aborted === aborted + 1);
    expect(await bench.ledgerOf(work.runId)).toMatchObject([
      { stop_kind: 'run_stopped', cost_nano_usd: thought.costNanoUsd },
    ]);
  });

  it('keeps text that Postgres can not, and answers all the same', async () => {
    bench.respond = answerWith('a\u0000b \ud800 c', { prompt_tokens: 1, completion_tokens: 1 });
    const work = thinkWork({ user: { id: 'eve\u0000' } });
    expect(await bench.thinkAbout(work)).toMatchObject({ outcome: 'reply' });
    expect(await bench.ledgerOf(work.runId)).toMatchObject([{ user_id: 'eve\ufffd' }]);
  });
});
