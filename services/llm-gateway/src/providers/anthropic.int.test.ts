/** Anthropic's Messages API behind a route, seen from both sides of the gateway. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { dollarPrice, routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';

const servers = useTestServers();
let bench: ModelBench;
const price = { ...dollarPrice, cachedInputPerMillion: '0.10', cacheWritePerMillion: '1.25' };

beforeAll(async () => {
  bench = await openModelBench(servers);
  const candidate = { provider: 'anthropic', baseUrl: bench.model.baseUrl, model: 'claude-x', price };
  await bench.put(routeObject('claude', { ...candidate, apiKey: '${secret:MODEL_KEY}' }));
});
afterAll(() => bench.close());

const send = (response: ServerResponse, event: { type: string } & Record<string, unknown>) =>
  response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const usage = { input_tokens: 10, cache_read_input_tokens: 900, cache_creation_input_tokens: 90, output_tokens: 1 };
  send(response, {
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content: [], usage },
  });
}
function block(response: ServerResponse, index: number, [content_block, ...deltas]: object[]): void {
  send(response, { type: 'content_block_start', index, content_block });
  for (const delta of deltas) send(response, { type: 'content_block_delta', index, delta });
  send(response, { type: 'content_block_stop', index });
}
function end(response: ServerResponse, stop_reason: string, output_tokens: number): void {
  send(response, { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens } });
  send(response, { type: 'message_stop' });
  response.end();
}
const text = { type: 'text', text: '' };
const look = {
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'number' } } },
};

describe("Anthropic's own API", () => {
  it('gives words and parallel calls, and its usage is counted once in its parts', async () => {
    bench.respond = (response) => {
      begin(response);
      block(response, 0, [
        { type: 'thinking', thinking: '' },
        { type: 'thinking_delta', thinking: 'hm' },
      ]);
      block(response, 1, [text, { type: 'text_delta', text: 'I ' }, { type: 'text_delta', text: 'look.' }]);
      for (const [index, id] of ['toolu_a', 'toolu_b'].entries()) {
        block(response, index + 2, [
          { type: 'tool_use', id, name: 'look', input: {} },
          { type: 'input_json_delta', partial_json: '{"at":' },
          { type: 'input_json_delta', partial_json: '1}' },
        ]);
      }
      end(response, 'tool_use', 50);
    };
    const work = thinkWork({ route: 'claude', tools: [look] });
    expect(await bench.thinkAbout(work)).toMatchObject({
      outcome: 'reply',
      text: 'I look.',
      calls: [
        { id: 'toolu_a', tool: 'look', args: '{"at":1}' },
        { id: 'toolu_b', tool: 'look', args: '{"at":1}' },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 1_000, cachedInputTokens: 900, cacheWriteTokens: 90, outputTokens: 50 },
      costNanoUsd: String(10 * 1_000 + 900 * 100 + 90 * 1_250 + 50 * 1_000),
      costBasis: 'measured',
      route: { provider: 'anthropic', responseId: 'msg_1' },
    });
  });

  it('gets instructions, turns, results and images in its own form', async () => {
    bench.respond = (response) => {
      begin(response);
      block(response, 0, [text, { type: 'text_delta', text: 'Done.' }]);
      end(response, 'end_turn', 3);
    };
    const call = (id: string, args: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'look', arguments: args },
    });
    const thought = await bench.thinkAbout(
      thinkWork({
        route: 'claude',
        tools: [look],
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Look twice.' },
          { role: 'assistant', content: '', tool_calls: [call('a', '{"at":1}'), call('functions.b:0', 'no json')] },
          { role: 'tool', tool_call_id: 'a', content: '1' },
          { role: 'tool', tool_call_id: 'functions.b:0', content: '2' },
          { role: 'user', content: 'And?' },
        ],
      }),
    );
    expect(thought).toMatchObject({ text: 'Done.', finishReason: 'stop' });
    expect(bench.model.seen.at(-1)?.body).toEqual({
      model: 'claude-x',
      max_tokens: 1_000,
      stream: true,
      cache_control: { type: 'ephemeral' },
      system: 'Be brief.',
      tools: [{ name: 'look', description: 'Looks.', input_schema: look.parameters }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Look twice.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
            { type: 'tool_use', id: 'functions_b_0', name: 'look', input: { invalid_arguments: 'no json' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: '1' },
            { type: 'tool_result', tool_use_id: 'functions_b_0', content: '2' },
            { type: 'text', text: 'And?' },
          ],
        },
      ],
    });
  });

  it('fails as others do: refused, busy, cut off before the end', async () => {
    const failure =
      (status: number, error: { type: string; message: string }, headers = {}) =>
      (response: ServerResponse) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify({ type: 'error', error }));
      };
    bench.respond = failure(400, { type: 'invalid_request_error', message: 'not like this' });
    const refused = await bench.thinkAbout(thinkWork({ route: 'claude' }));
    expect(refused.error).toMatchObject({ code: 'model_refused', message: expect.stringContaining('not like this') });
    bench.respond = failure(529, { type: 'overloaded_error', message: 'Overloaded' }, { 'retry-after': '0' });
    const busy = await bench.thinkAbout(thinkWork({ route: 'claude' }));
    expect(busy.error).toMatchObject({ code: 'model_unavailable', message: expect.stringContaining('Overloaded') });
    bench.respond = (response) => {
      begin(response);
      block(response, 0, [text, { type: 'text_delta', text: 'Half' }]);
      response.end();
    };
    const cut = await bench.thinkAbout(thinkWork({ route: 'claude' }));
    expect(cut).toMatchObject({
      outcome: 'failed',
      text: 'Half',
      costBasis: 'estimated',
      error: { code: 'model_bad_reply' },
    });
  });

  it('holds a model to the schema of an answer, and caches nothing whose price is unknown', async () => {
    const { cacheWritePerMillion: _write, ...uncached } = price;
    const candidate = { provider: 'other', api: 'anthropic' as const, baseUrl: bench.model.baseUrl, price: uncached };
    await bench.put(routeObject('proxied', candidate));
    bench.respond = (response) => {
      begin(response);
      block(response, 0, [text, { type: 'text_delta', text: '{}' }]);
      end(response, 'end_turn', 3);
    };
    const answerSchema = { type: 'object' };
    await bench.thinkAbout(thinkWork({ route: 'proxied', answerSchema }));
    const sent = bench.model.seen.at(-1)?.body ?? {};
    expect(sent['output_config']).toEqual({ format: { type: 'json_schema', schema: answerSchema } });
    expect(sent).not.toHaveProperty('cache_control');
  });
});
