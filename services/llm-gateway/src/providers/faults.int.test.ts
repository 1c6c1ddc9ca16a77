/** The ways in which endpoints fail, each by a model of the stand-in, and framing that no stand-in sends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelRoute } from '@pawl/contracts';
import { createSim, type Sim } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { openStream } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;
let sim: Sim;
let simUrl: string;

beforeAll(async () => {
  bench = await openModelBench(servers);
  sim = createSim({ models: {} });
  simUrl = (await sim.start()).url;
});
afterAll(async () => {
  await sim.stop();
  await bench.close();
});

/** A limit is short only where it is to be hit, so that no slow machine hits it first. */
async function thinkWith(model: string, timeouts: ModelRoute['spec']['timeouts'] = {}) {
  const spec = { retry: { max: 0 }, timeouts };
  await bench.put(routeObject(model, { baseUrl: `${simUrl}/v1`, model }, spec));
  const work = thinkWork({ route: model });
  const thought = await bench.thinkAbout(work);
  await eventually(async () => (await bench.countersOf(`run/${work.runId}`))?.held === '0');
  return { thought, line: (await bench.ledgerOf(work.runId))[0] };
}

describe('an endpoint that fails', () => {
  it.each([
    {
      kind: 'M13',
      model: 'fault-slow-first-token',
      timeouts: { firstToken: '500ms' },
      code: 'model_unavailable',
      stopKind: 'stalled',
      words: 'no token within 0.5 s',
    },
    {
      kind: 'M13',
      model: 'fault-slow-tokens',
      timeouts: { idle: '500ms' },
      code: 'model_unavailable',
      stopKind: 'stalled',
      words: 'fell silent for 0.5 s',
    },
    {
      kind: 'M13',
      model: 'fault-stall',
      timeouts: { idle: '500ms' },
      code: 'model_unavailable',
      stopKind: 'stalled',
      words: 'fell silent for 0.5 s',
    },
    {
      kind: 'M13',
      model: 'fault-stall-at-once',
      timeouts: { headers: '1s', firstToken: '500ms' },
      code: 'model_unavailable',
      stopKind: 'stalled',
      words: 'within 1 s|no token within 0.5 s',
    },
    { kind: 'M12', model: 'fault-cut', code: 'model_unavailable', stopKind: 'upstream_error', words: 'broke off' },
    { kind: 'M12', model: 'fault-early-end', code: 'model_bad_reply', stopKind: 'truncated', words: 'in the middle' },
    { kind: 'M12', model: 'fault-garbage', code: 'model_bad_reply', stopKind: 'truncated', words: 'not JSON' },
    {
      kind: 'M12',
      model: 'fault-error-in-stream',
      code: 'model_unavailable',
      stopKind: 'upstream_error',
      words: 'overloaded in the middle',
    },
    {
      kind: 'M12',
      model: 'fault-error-at-once',
      code: 'model_unavailable',
      stopKind: 'upstream_error',
      words: 'overloaded in the middle',
    },
    { kind: 'M14', model: 'fault-500', code: 'model_unavailable', stopKind: 'unavailable', words: 'something broke' },
    { kind: 'M14', model: 'fault-refuse', code: 'model_refused', stopKind: 'refused', words: 'refused' },
    { kind: 'M15', model: 'fault-429-hour', code: 'model_unavailable', stopKind: 'unavailable', words: 'slow down' },
  ])(
    '$kind: $model ends as it is told in the books, and holds nothing any more',
    async ({ model, timeouts, code, stopKind, words }) => {
      const { thought, line } = await thinkWith(model, timeouts);
      expect(thought.error).toMatchObject({ code, message: expect.stringMatching(words) });
      expect(line).toMatchObject({ stop_kind: stopKind, cost_nano_usd: thought.costNanoUsd });
      // What the endpoint took and did not refuse may be billed, and is estimated.
      expect(BigInt(thought.costNanoUsd) > 0n).toBe(!['unavailable', 'refused'].includes(stopKind));
    },
  );

  it.each(['fault-429', 'fault-429-ms', 'fault-429-seconds', 'fault-429-garbage', 'fault-429-date'])(
    'M15: %s is asked again once it wants, and not more often than declared',
    async (model) => {
      const before = sim.requestCount;
      await bench.put(routeObject(model, { baseUrl: `${simUrl}/v1`, model }, { retry: { max: 1 } }));
      const startedAt = performance.now();
      const thought = await bench.thinkAbout(thinkWork({ route: model }));
      expect(thought.error?.code).toBe('model_unavailable');
      expect(sim.requestCount - before).toBe(2);
      const waitsAtLeastMs = { 'fault-429-ms': 200, 'fault-429-seconds': 1_000, 'fault-429-date': 900 }[model] ?? 0;
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(waitsAtLeastMs);
    },
  );

  it('M5: a reply without usage is estimated', async () => {
    const { thought, line } = await thinkWith('fault-no-usage');
    expect(thought).toMatchObject({ outcome: 'reply', costBasis: 'estimated' });
    expect(line).toMatchObject({ stop_kind: 'complete', basis: 'estimated' });
  });
});

describe('M11: the framing of an event stream', () => {
  const events = (newline: string) =>
    [
      ': a comment',
      '',
      'id: 7',
      'event: message',
      'data: {"id":"r","choices":[{"index":0,',
      'data: "delta":{"content":"Grüße, 世界 🌍"}}]}',
      '',
      'data:{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
      '',
      'data: {"id":"r","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}',
      '',
      'data: [DONE]',
      '',
      '',
    ].join(newline);

  it.each([
    ['LF', events('\n'), 0],
    ['CRLF', events('\r\n'), 0],
    ['CR', events('\r'), 0],
    ['LF behind a byte order mark', `\ufeff${events('\n')}`, 0],
    ['LF in pieces of one byte', events('\n'), 1],
    ['CRLF in pieces of three bytes', events('\r\n'), 3],
  ])('%s gives the same reply', async (_name, text, pieceBytes) => {
    bench.respond = async (response) => {
      openStream(response);
      const bytes = Buffer.from(text);
      const size = pieceBytes || bytes.length;
      for (let at = 0; at < bytes.length; at += size) {
        response.write(bytes.subarray(at, at + size));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    };
    expect(await bench.thinkAbout(thinkWork())).toMatchObject({
      outcome: 'reply',
      text: 'Grüße, 世界 🌍',
      usage: { inputTokens: 3, outputTokens: 4 },
      costBasis: 'measured',
    });
  });
});
