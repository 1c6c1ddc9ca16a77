/** What think work may ask for beside an answer: hidden thoughts, an answer by a schema, room on the runs above. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { subscribeDeltas } from '@pawl/bus';
import type { ThinkWork, Thought } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import { routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import {
  answerWith,
  chunk,
  failWith,
  openStream,
  sendEvent,
  usageChunk,
  type Respond,
} from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;

beforeAll(async () => {
  bench = await openModelBench(servers);
});
afterAll(() => bench.close());

async function thinkAloud(work: ThinkWork): Promise<{ thought: Thought; deltas: string[] }> {
  const deltas: string[] = [];
  const unsubscribe = subscribeDeltas(bench.bus, work, ({ text }) => deltas.push(text));
  await bench.bus.connection.flush();
  const thought = await bench.thinkAbout(work);
  await bench.bus.connection.flush();
  unsubscribe();
  return { thought, deltas };
}

/** Words, then calls. */
const talkAndCall: Respond = (response) => {
  openStream(response);
  sendEvent(response, chunk({ content: 'A secret ' }));
  sendEvent(response, chunk({ content: 'thought.' }));
  sendEvent(response, chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }] }));
  sendEvent(response, chunk({}, 'tool_calls'));
  sendEvent(response, usageChunk({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }));
  sendEvent(response, '[DONE]');
  response.end();
};

it('repeats on the thought how many signals its prompt held, also when the call fails', async () => {
  bench.respond = answerWith('Seen.', { prompt_tokens: 1, completion_tokens: 1 });
  expect(await bench.thinkAbout(thinkWork({ signalsSeen: 3 }))).toMatchObject({ outcome: 'reply', signalsSeen: 3 });
  bench.respond = failWith(401, 'No.');
  expect(await bench.thinkAbout(thinkWork({ signalsSeen: 2 }))).toMatchObject({ outcome: 'failed', signalsSeen: 2 });
  const denied = await bench.thinkAbout(thinkWork({ signalsSeen: 1, route: 'nowhere' }));
  expect(denied).toMatchObject({ outcome: 'failed', signalsSeen: 1 });
});

describe('hidden thoughts', () => {
  it('beside calls are neither streamed nor kept', async () => {
    bench.respond = talkAndCall;
    const hidden = await thinkAloud(thinkWork({ areThoughtsHidden: true }));
    expect(hidden.thought).toMatchObject({ text: '', calls: [{ tool: 'look' }] });
    expect(hidden.deltas).toEqual([]);
    const open = await thinkAloud(thinkWork());
    expect(open.thought.text).toBe('A secret thought.');
    expect(open.deltas.join('')).toBe('A secret thought.');
    const rows = await bench.database.query<{ thought: string }>(
      'select thought from gateway.replies where run_id = $1',
      [hidden.thought.runId],
    );
    expect(rows[0]?.thought).not.toContain('secret');
  });

  it('leave an answer visible, once it is known to be one', async () => {
    bench.respond = answerWith('It is line C.', { prompt_tokens: 1, completion_tokens: 4 });
    const { thought, deltas } = await thinkAloud(thinkWork({ areThoughtsHidden: true }));
    expect(thought.text).toBe('It is line C.');
    expect(deltas).toEqual(['It is line C.']);
  });

  it('of a reply that breaks are not told: calls might have followed', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'A secret ' }));
      setImmediate(() => response.destroy());
    };
    const { thought, deltas } = await thinkAloud(thinkWork({ areThoughtsHidden: true }));
    expect(thought).toMatchObject({ outcome: 'failed', text: '' });
    expect(deltas).toEqual([]);
  });
});

describe('the schema of an answer', () => {
  const answerSchema = { type: 'object', properties: { cause: { type: 'string' } } };
  const sent = () => bench.model.seen.at(-1)?.body['response_format'];

  it('goes to the endpoint when no tools are offered', async () => {
    bench.respond = answerWith('{"cause":"C"}', { prompt_tokens: 1, completion_tokens: 1 });
    await bench.thinkAbout(thinkWork({ answerSchema }));
    expect(sent()).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: answerSchema, strict: false },
    });
    await bench.thinkAbout(thinkWork({ answerSchema, tools: [{ name: 'look', description: '', parameters: {} }] }));
    expect(sent()).toBeUndefined();
  });

  it('is left out where the endpoint refuses it', async () => {
    const answer = answerWith('{"cause":"C"}', { prompt_tokens: 1, completion_tokens: 1 });
    bench.respond = (response, request) =>
      request.body['response_format']
        ? failWith(400, 'no response_format')(response, request)
        : answer(response, request);
    const work = thinkWork({ answerSchema });
    expect(await bench.thinkAbout(work)).toMatchObject({ outcome: 'reply', text: '{"cause":"C"}' });
    expect(await bench.ledgerOf(work.runId)).toMatchObject([{ attempts: 2 }]);
    bench.respond = failWith(400, 'I refuse everything');
    const refused = await bench.thinkAbout(thinkWork({ answerSchema }));
    expect(refused.error).toMatchObject({ code: 'model_refused', message: expect.stringContaining('everything') });
  });
});

describe('R13: a root run with a cap of 1.00 and three sub-runs that want 0.50 each at once', () => {
  it('never holds more than 1.00, and the third stops on money', async () => {
    const rootId = `run_${randomBytes(16).toString('hex')}`;
    // 500 output tokens at 1,000 dollars a million: 0.50 each.
    const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '1000' };
    await bench.put(routeObject('dear', { baseUrl: bench.model.baseUrl, price }));
    const held: bigint[] = [];
    const twoAreIn = Promise.withResolvers<void>();
    let waiting = 0;
    bench.respond = async (response, request) => {
      const state = await bench.countersOf(`run/${rootId}`);
      held.push(BigInt(state?.held ?? 0) + BigInt(state?.spent ?? 0));
      waiting += 1;
      if (waiting === 2) twoAreIn.resolve();
      await twoAreIn.promise;
      return answerWith('Done.', { prompt_tokens: 1, completion_tokens: 500 })(response, request);
    };
    const ancestors = [{ runId: rootId, spendLimitNanoUsd: '1000000000' }];
    const works = [0, 1, 2].map(() =>
      thinkWork({ route: 'dear', maxOutputTokens: 500, runSpendLimitNanoUsd: '500000000', ancestors }),
    );
    const thoughts = await Promise.all(works.map((work) => bench.thinkAbout(work)));
    expect(thoughts.map(({ outcome }) => outcome).toSorted()).toEqual(['failed', 'reply', 'reply']);
    const third = thoughts.find(({ outcome }) => outcome === 'failed');
    expect(third?.error).toMatchObject({ code: 'budget_exceeded', message: expect.stringContaining(rootId) });
    expect(held.every((amount) => amount <= 1_000_000_000n)).toBe(true);
    expect(await bench.countersOf(`run/${rootId}`)).toEqual({ held: '0', spent: '1000000000' });
  });
});
