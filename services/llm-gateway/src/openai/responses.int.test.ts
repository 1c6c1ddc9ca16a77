/** The Responses API and embeddings, as the official client sees them. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { routeObject } from '../testing/gateway-bench.ts';
import { openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, failWith, openStream, sendEvent, usageChunk } from '../testing/model-server.ts';

const servers = useTestServers();
let bench: ModelBench;
let client: OpenAI;

beforeAll(async () => {
  bench = await openModelBench(servers);
  await bench.put(routeObject('embed', { baseUrl: bench.model.baseUrl, model: 'embed-1' }));
  client = new OpenAI({ apiKey: bench.appKey, baseURL: `${bench.gateway.url}/v1`, maxRetries: 0, logLevel: 'off' });
});
afterAll(() => bench.close());

const usage = { prompt_tokens: 40, completion_tokens: 5 };
const lastLine = async () =>
  (await bench.database.query<Record<string, unknown>>('select * from gateway.ledger order by at desc limit 1'))[0];
const look = { type: 'function' as const, name: 'look', parameters: { type: 'object' }, strict: false };

describe('a response', () => {
  it('answers in items, and is charged like a completion', async () => {
    bench.respond = answerWith('It is line C.', usage);
    const response = await client.responses.create({
      model: 'smart',
      instructions: 'Be brief.',
      input: 'Why did sales drop?',
      max_output_tokens: 100,
      text: { format: { type: 'json_schema', name: 'cause', schema: { type: 'object' } } },
    });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'It is line C.',
      usage: { input_tokens: 40, output_tokens: 5, total_tokens: 45 },
    });
    expect(bench.model.seen.at(-1)?.body).toMatchObject({
      max_tokens: 100,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why did sales drop?' },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'cause', schema: { type: 'object' } } },
    });
    expect(await lastLine()).toMatchObject({ purpose: 'chat', cost_nano_usd: '45000' });
  });

  it('takes calls and their outputs as items, and gives calls as items', async () => {
    bench.respond = (response) => {
      openStream(response);
      for (const [index, id] of ['a', 'b'].entries()) {
        sendEvent(response, chunk({ tool_calls: [{ index, id, function: { name: 'look', arguments: '{"at":' } }] }));
        sendEvent(response, chunk({ tool_calls: [{ index, function: { arguments: '1}' } }] }));
      }
      sendEvent(response, chunk({}, 'tool_calls'));
      sendEvent(response, usageChunk({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }));
      response.end();
    };
    const call = (call_id: string) => ({ type: 'function_call' as const, call_id, name: 'look', arguments: '{}' });
    const input = [
      { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Look twice.' }] },
      call('x'),
      call('y'),
      { type: 'function_call_output' as const, call_id: 'x', output: '1' },
      { type: 'function_call_output' as const, call_id: 'y', output: '2' },
    ];
    const response = await client.responses.create({ model: 'smart', input, tools: [look] });
    expect(response.output).toMatchObject([
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{"at":1}' },
    ]);
    const sent = (bench.model.seen.at(-1)?.body['messages'] ?? []) as { role: string; tool_calls?: object[] }[];
    const roles = sent.map(({ role, tool_calls }) => [role, tool_calls?.length]);
    expect(roles).toEqual([
      ['user', undefined],
      ['assistant', 2],
      ['tool', undefined],
      ['tool', undefined],
    ]);
  });

  it('streams events that the official client puts together again', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'I ' }));
      sendEvent(response, chunk({ content: 'look.' }));
      sendEvent(response, chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '' } }] }));
      sendEvent(response, chunk({ tool_calls: [{ index: 0, function: { arguments: '{"at":1}' } }] }));
      sendEvent(response, chunk({}, 'tool_calls'));
      sendEvent(response, usageChunk({ ...usage, total_tokens: 45 }));
      response.end();
    };
    const stream = client.responses.stream({ model: 'smart', input: 'Look.', tools: [look] });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const final = await stream.finalResponse();
    expect(final).toMatchObject({ output_text: 'I look.', usage: { total_tokens: 45 } });
    expect(final.output[1]).toMatchObject({ type: 'function_call', call_id: 'a', arguments: '{"at":1}' });
  });

  it('M12: fails in the middle of a stream, and says what it can not do', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Half' }));
      response.end();
    };
    const events = await Array.fromAsync(await client.responses.create({ model: 'smart', input: 'Hi', stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { error: { code: 'model_bad_reply' } } });
    const kept = client.responses.create({ model: 'smart', input: 'Hi', previous_response_id: 'resp_1' });
    await expect(kept).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
    bench.respond = failWith(400, 'no');
    await expect(client.responses.create({ model: 'smart', input: 'Hi', stream: true })).rejects.toMatchObject({
      status: 400,
      code: 'model_refused',
    });
  });

  it('may be referred to item by item, by its own app, as long as it is kept', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'I look.' }));
      const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{"at":1}' } };
      sendEvent(response, chunk({ tool_calls: [call] }));
      sendEvent(response, chunk({}, 'tool_calls'));
      response.end();
    };
    const first = await client.responses.create({ model: 'smart', input: 'Look.', tools: [look] });
    expect(first.output).toMatchObject([{ type: 'message' }, { type: 'function_call' }]);
    const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id ?? '' }));
    const input = [
      { role: 'user' as const, content: 'Look.' },
      ...references,
      { type: 'function_call_output' as const, call_id: 'a', output: 'nothing' },
    ];
    const go = (more: object = {}) => client.responses.create({ model: 'smart', input, tools: [look], ...more });
    bench.respond = answerWith('Nothing there.', usage);
    expect((await go()).output_text).toBe('Nothing there.');
    expect(bench.model.seen.at(-1)?.body['messages']).toEqual([
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'nothing' },
    ]);

    const unkept = await client.responses.create({ model: 'smart', input: 'Say.', store: false });
    const gone = { type: 'item_reference' as const, id: unkept.output[0]?.id ?? '' };
    const refused = { status: 400, code: 'invalid_request', message: expect.stringContaining('send it whole') };
    await expect(go({ input: [gone] })).rejects.toMatchObject({ ...refused, param: 'input.0.id' });
    const replies = `update gateway.replies set thought = replace(thought, '"app":"demo"', '"app":"other"')`;
    await bench.database.query(replies);
    await expect(go()).rejects.toMatchObject({ ...refused, param: 'input.1.id' });
    await bench.database.query(`update gateway.replies set thought = ''`);
    await expect(go()).rejects.toMatchObject(refused);
    const unknown = [{ type: 'computer_call', id: 'x' }] as never;
    await expect(go({ input: unknown })).rejects.toMatchObject({ status: 400, param: 'input.0.type' });
  });

  it('that ended at its limit is incomplete', async () => {
    bench.respond = (response) => {
      openStream(response);
      sendEvent(response, chunk({ content: 'Cut' }, 'length'));
      response.end();
    };
    const response = await client.responses.create({ model: 'smart', input: 'Hi' });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  });
});

describe('embeddings', () => {
  it('are given as the endpoint gave them, and charged by their input', async () => {
    bench.respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const data = [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }];
      response.end(
        JSON.stringify({ object: 'list', data, model: 'embed-1', usage: { prompt_tokens: 8, total_tokens: 8 } }),
      );
    };
    const answer = await client.embeddings.create({ model: 'embed', input: ['one text'], encoding_format: 'float' });
    expect(answer).toMatchObject({ data: [{ index: 0, embedding: [0.5, -0.25] }], usage: { prompt_tokens: 8 } });
    expect(bench.model.seen.at(-1)?.body).toEqual({ model: 'embed-1', input: ['one text'], encoding_format: 'float' });
    expect(await lastLine()).toMatchObject({
      purpose: 'embed',
      input_tokens: '8',
      cost_nano_usd: '8000',
      stop_kind: 'complete',
    });
  });

  it('fail like every call', async () => {
    bench.respond = failWith(400, 'too long');
    await expect(client.embeddings.create({ model: 'embed', input: 'x' })).rejects.toMatchObject({
      code: 'model_refused',
    });
    await expect(client.embeddings.create({ model: 'nothing', input: 'x' })).rejects.toMatchObject({ status: 404 });
  });
});
