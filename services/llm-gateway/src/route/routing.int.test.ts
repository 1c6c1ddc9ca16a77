/** Routes with several endpoints, each of which does what its test says. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Candidate, ModelRoute } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import { dollarPrice, routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, failWith, openStream, sendEvent, type Respond } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;
/** What each model does; models are told apart by their names. */
const behaviours = new Map<string, Respond>();
const asked = (model: string) => bench.model.seen.filter(({ body }) => body['model'] === model).length;

beforeAll(async () => {
  bench = await openModelBench(servers);
  bench.respond = (response, request) => behaviours.get(String(request.body['model']))?.(response, request);
});
afterAll(() => bench.close());

const answer = answerWith('From here.', { prompt_tokens: 10, completion_tokens: 2 });
async function putRoute(name: string, candidates: Partial<Candidate>[], spec: Partial<ModelRoute['spec']> = {}) {
  const base = { provider: 'sim', baseUrl: bench.model.baseUrl, price: dollarPrice };
  const all = candidates.map((candidate, position) => ({ ...base, model: `${name}-${position}`, ...candidate }));
  await bench.put({ ...routeObject(name, {}), spec: { candidates: all, ...spec } });
}

describe('fallback', () => {
  it('goes on to the next endpoint before the first word, and says so on the thought', async () => {
    await putRoute('spare', [{ region: 'eu' }, { region: 'us' }]);
    behaviours.set('spare-0', failWith(503, 'down'));
    behaviours.set('spare-1', answer);
    const work = thinkWork({ route: 'spare' });
    expect(await bench.thinkAbout(work)).toMatchObject({
      outcome: 'reply',
      route: { model: 'spare-1', region: 'us', routeReason: expect.stringContaining('after spare-0 failed') },
    });
    expect(await bench.ledgerOf(work.runId)).toMatchObject([{ model: 'spare-1', attempts: 2, stop_kind: 'complete' }]);
  });

  it('M12: never happens after the first word: the error is the answer', async () => {
    await putRoute('late', [{}, {}]);
    behaviours.set('late-0', (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half ' }));
      setImmediate(() => response.destroy());
    });
    behaviours.set('late-1', answer);
    expect(await bench.thinkAbout(thinkWork({ route: 'late' }))).toMatchObject({ outcome: 'failed', text: 'Half ' });
    expect(asked('late-1')).toBe(0);
  });

  it('M12: pays what a stream may have cost that broke before its first word', async () => {
    await putRoute('torn', [{}, {}]);
    behaviours.set('torn-0', (response) => {
      openStream(response);
      sendEvent(response, { error: { message: 'overloaded', type: 'server_error' } });
      response.end();
    });
    behaviours.set('torn-1', answer);
    const work = thinkWork({ route: 'torn' });
    expect(await bench.thinkAbout(work)).toMatchObject({ outcome: 'reply', costNanoUsd: '12000' });
    const lines = await bench.ledgerOf(work.runId);
    expect(
      lines
        .map(({ model, is_final, basis }) => [model, is_final, basis])
        .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
    ).toEqual([
      ['torn-0', false, 'estimated'],
      ['torn-1', true, 'measured'],
    ]);
    const sum = lines.reduce((total, { cost_nano_usd }) => total + BigInt(String(cost_nano_usd)), 0n);
    expect(await bench.countersOf(`run/${work.runId}`)).toEqual({ held: '0', spent: sum.toString() });
  });

  it('M14: is bounded, and the first error is told with those that followed', async () => {
    await putRoute('both', [{}, {}], { retry: { max: 2 } });
    behaviours.set('both-0', failWith(429, 'the first is busy', { 'retry-after-ms': '1' }));
    behaviours.set('both-1', failWith(400, 'the second refuses'));
    const thought = await bench.thinkAbout(thinkWork({ route: 'both' }));
    expect(thought.error).toMatchObject({
      code: 'model_unavailable',
      message: expect.stringMatching(/the first is busy.*after 2 tries.*the second refuses/),
    });
    behaviours.set('both-1', failWith(429, 'the second is busy', { 'retry-after-ms': '1' }));
    const before = asked('both-0') + asked('both-1');
    await bench.thinkAbout(thinkWork({ route: 'both' }));
    expect(asked('both-0') + asked('both-1') - before).toBe(3);
  });

  it('follows declared causes only', async () => {
    await putRoute('strict', [{}, {}], { fallback: { on: ['rate_limited'] }, retry: { max: 0 } });
    behaviours.set('strict-0', failWith(500, 'down'));
    behaviours.set('strict-1', answer);
    expect((await bench.thinkAbout(thinkWork({ route: 'strict' }))).outcome).toBe('failed');
    expect(asked('strict-1')).toBe(0);
  });

  it('takes a model with more room when the request is too long', async () => {
    await putRoute('long', [{}, {}]);
    const tooLong: Respond = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      const error = { message: 'maximum context length is 10', code: 'context_length_exceeded' };
      response.end(JSON.stringify({ error }));
    };
    behaviours.set('long-0', tooLong);
    behaviours.set('long-1', answer);
    expect((await bench.thinkAbout(thinkWork({ route: 'long' }))).route?.model).toBe('long-1');
  });

  it('takes a cheaper endpoint when the money does not do for a dear one', async () => {
    const dear = { currency: 'USD', inputPerMillion: '1000', outputPerMillion: '1000' };
    await putRoute('thrifty', [{ price: dear }, {}]);
    behaviours.set('thrifty-1', answer);
    const thought = await bench.thinkAbout(thinkWork({ route: 'thrifty', runSpendLimitNanoUsd: '2000000' }));
    expect(thought).toMatchObject({ outcome: 'reply', route: { model: 'thrifty-1' } });
    expect(asked('thrifty-0')).toBe(0);
  });
});

describe('residency (I14)', () => {
  it('never goes to an endpoint that is not allowed for the data, also when the allowed one is down', async () => {
    await putRoute('resident', [{}, { region: 'br', dataClasses: ['personal'] }], { retry: { max: 3 } });
    behaviours.set('resident-0', answer);
    behaviours.set('resident-1', answer);
    const dataClasses = ['personal'];
    const thought = await bench.thinkAbout(thinkWork({ route: 'resident', dataClasses }));
    expect(thought.route).toMatchObject({ model: 'resident-1', region: 'br' });
    expect(thought.route?.routeReason).toContain('allowed for personal');
    behaviours.set('resident-1', failWith(503, 'down', { 'retry-after-ms': '1' }));
    const failed = await bench.thinkAbout(thinkWork({ route: 'resident', dataClasses }));
    expect(failed.error?.code).toBe('model_unavailable');
    const blocked = await bench.thinkAbout(thinkWork({ route: 'resident', dataClasses: ['personal', 'health'] }));
    expect(blocked.error?.code).toBe('residency_blocked');
    expect(asked('resident-0')).toBe(0);
  });
});

describe('the circuit of an endpoint', () => {
  it('opens after failures, for every gateway, and the others are asked first', async () => {
    await putRoute('flaky', [{}, { priority: 1 }]);
    behaviours.set('flaky-0', failWith(500, 'down'));
    behaviours.set('flaky-1', answer);
    const other = await bench.startGateway();
    for (let times = 0; times < 5; times += 1) await bench.thinkAbout(thinkWork({ route: 'flaky' }));
    for (let times = 0; times < 8; times += 1) {
      expect((await bench.thinkAbout(thinkWork({ route: 'flaky' }))).route?.model).toBe('flaky-1');
    }
    await other.stop();
    // A notice may come a moment after the next call.
    expect(asked('flaky-0')).toBeGreaterThanOrEqual(5);
    expect(asked('flaky-0')).toBeLessThanOrEqual(7);
  });
});
