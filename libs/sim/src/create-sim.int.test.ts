import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Conversation, type SimSource, createSim } from './index.ts';

const TOOLS = ['a', 'b', 'c'].map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }));
const THREE_CALLS = ['a', 'b', 'c'].map((tool) => ({
  tool,
  args: { text: `for ${tool}, long enough to be in pieces` },
}));

let seen: Conversation | undefined;
const asked = Promise.withResolvers<void>();
const release = Promise.withResolvers<void>();
const watched = Promise.withResolvers<SimSource>();
const sim = createSim({
  models: {
    caller: {
      respond: (context) => {
        seen = context;
        return context.observations.length === 0
          ? { say: 'Three at once.', calls: THREE_CALLS }
          : { answer: 'All done.' };
      },
    },
    broken: { respond: () => ({ answer: 'one two three', breakAfterChunks: 2 }) },
    busy: { respond: () => ({ fail: { status: 429, code: 'slow_down', headers: { 'retry-after': '7' } } }) },
    slow: { firstTokenDelayMs: 600_000, respond: () => ({ answer: 'late' }) },
    watcher: {
      respond: (_context, source) => {
        watched.resolve(source);
        return new Promise(() => {});
      },
    },
    held: {
      respond: async () => {
        asked.resolve();
        await release.promise;
        return { answer: 'released' };
      },
    },
  },
});
let client: OpenAI;
let baseUrl: string;

beforeAll(async () => {
  baseUrl = (await sim.start()).url;
  client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: 'anything', maxRetries: 0 });
});
afterAll(() => sim.stop());

function user(content: string) {
  return [{ role: 'user' as const, content }];
}

function lastRequest() {
  return sim.requests.at(-1);
}

test('unary: parallel calls, results, answer; the meter has the usage that the client got', async () => {
  const first = await client.chat.completions.create({ model: 'caller', messages: user('go'), tools: TOOLS });
  const message = first.choices[0]?.message;
  expect(first.choices[0]?.finish_reason).toBe('tool_calls');
  expect(message?.tool_calls).toHaveLength(3);
  expect(new Set(message?.tool_calls?.map((call) => call.id)).size).toBe(3);
  const results = (message?.tool_calls ?? []).map((call) => {
    return { role: 'tool' as const, tool_call_id: call.id, content: '{"status":"ok","data":{"n":1}}' };
  });
  const history = message === undefined ? [] : [message];
  const second = await client.chat.completions.create({
    model: 'caller',
    messages: [...user('go'), ...history, ...results],
  });
  expect(second.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'All done.' } });
  expect(seen).toMatchObject({ question: 'go', tools: [], turn: 1 });
  expect(seen?.observations.map((one) => one.tool)).toEqual(['a', 'b', 'c']);
  expect(lastRequest()).toEqual({
    model: 'caller',
    isStream: false,
    outcome: 'completed',
    responseId: second.id,
    usage: { promptTokens: second.usage?.prompt_tokens, completionTokens: second.usage?.completion_tokens },
  });
});

test('stream: the official client puts the same reply together, with usage at the end', async () => {
  const request = { model: 'caller', messages: user('go'), tools: TOOLS };
  const unary = await client.chat.completions.create(request);
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  const streamed = await stream.finalChatCompletion();
  const calls = streamed.choices[0]?.message.tool_calls ?? [];
  expect(calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments))).toEqual(
    THREE_CALLS.map((call) => call.args),
  );
  expect(streamed.choices[0]?.message.content).toBe('Three at once.');
  expect(streamed.usage).toEqual(unary.usage);
  expect(calls[0]?.id).not.toBe(unary.choices[0]?.message.tool_calls?.[0]?.id);
});

test('a stream without include_usage has no usage chunk and ends with [DONE]', async () => {
  const text = await post({ model: 'caller', messages: user('go'), stream: true }).then((response) => response.text());
  const events = text.trim().split('\n\n');
  expect(events.at(-1)).toBe('data: [DONE]');
  expect(text).not.toContain('usage');
});

test.each([
  [{ model: 'caller', messages: user('x'), n: 2 }, 400, /n: only n = 1/],
  [{ model: 'nobody', messages: user('x') }, 404, /nobody.*caller/],
  [{ model: 'caller', messages: [] }, 400, /messages/],
  [
    { model: 'caller', messages: [...user('x'), { role: 'tool', tool_call_id: 'q', content: '' }] },
    400,
    /messages\[1\]/,
  ],
  [{ model: 'caller', messages: user('x'), max_tokens: 0 }, 400, /max_tokens/],
])('refuses %j with %i in OpenAI form', async (body, status, message) => {
  const response = await post(body);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({
    error: { message: expect.stringMatching(message), type: 'invalid_request_error' },
  });
});

test('invalid JSON and unknown paths are answered in the same form', async () => {
  const broken = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"model":',
  });
  expect(broken.status).toBe(400);
  expect(await broken.json()).toHaveProperty('error.code', 'invalid_request');
  expect(await fetch(`${baseUrl}/v1/nothing`).then((response) => response.json())).toHaveProperty(
    'error.code',
    'not_found',
  );
});

test('a scripted failure carries status, code and headers', async () => {
  const failure = await client.chat.completions
    .create({ model: 'busy', messages: user('x') })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(OpenAI.RateLimitError);
  expect(failure).toMatchObject({ status: 429, code: 'slow_down' });
  expect((failure as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('7');
});

test('a scripted break ends the stream in the middle', async () => {
  const stream = await client.chat.completions.create({ model: 'broken', messages: user('x'), stream: true });
  const texts: string[] = [];
  const read = async () => {
    for await (const chunk of stream) texts.push(chunk.choices[0]?.delta.content ?? '');
  };
  await expect(read()).rejects.toThrow(/terminated|closed|premature/i);
  expect(texts.join('')).toBe('one');
  await expect.poll(() => lastRequest()).toMatchObject({ model: 'broken', outcome: 'failed' });
});

test('a client that leaves ends the stream', async () => {
  const leave = new AbortController();
  const stream = await client.chat.completions.create(
    { model: 'slow', messages: user('x'), stream: true },
    { signal: leave.signal },
  );
  await stream[Symbol.asyncIterator]().next();
  leave.abort();
  await expect.poll(() => lastRequest()).toMatchObject({ model: 'slow', outcome: 'aborted' });
});

test('a model sees the whole request, and a client that leaves before its reply is known at once', async () => {
  const leave = new AbortController();
  const options = { signal: leave.signal, headers: { traceparent: '00-1' } };
  const request = { model: 'watcher', messages: user('x'), max_tokens: 9 };
  const pending = client.chat.completions.create(request, options);
  const source = await watched.promise;
  expect(source).toMatchObject({
    body: { max_tokens: 9 },
    headers: { traceparent: '00-1', authorization: 'Bearer anything' },
  });
  leave.abort();
  await expect(pending).rejects.toThrow(/aborted/);
  await expect.poll(() => lastRequest()).toMatchObject({ model: 'watcher', outcome: 'aborted' });
  expect(source.signal.aborted).toBe(true);
});

test('a body over 64 MiB is refused, one of 2 MiB is not', async () => {
  expect((await post({ model: 'caller', messages: user('x'.repeat(2 * 1024 * 1024)) })).status).toBe(200);
  const tooLarge = await declareBody(64 * 1024 * 1024 + 1);
  expect(tooLarge).toMatch(/^HTTP\/1\.1 413 .*"code":"request_too_large"/s);
});

test('a reply can be held back until the test releases it', async () => {
  const before = sim.requestCount;
  const pending = client.chat.completions.create({ model: 'held', messages: user('x') });
  await asked.promise;
  expect(sim.requestCount).toBe(before);
  release.resolve();
  expect((await pending).choices[0]?.message.content).toBe('released');
});

test('models are listed', async () => {
  const names: string[] = [];
  for await (const model of client.models.list()) names.push(model.id);
  expect(names).toEqual(['caller', 'broken', 'busy', 'slow', 'watcher', 'held']);
});

test('as a process: ready line, a rule error as 400, SIGTERM; a bad script ends it with a sentence', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sim-'));
  const rules = "[{ name: hi, when: question = 'hi', answer: \"'hello'\" }]";
  await writeFile(join(folder, 'good.yaml'), `models: { m: { rules: ${rules} } }`);
  await writeFile(join(folder, 'bad.yaml'), 'models: { m: { rules: [] } }');
  const good = startProcess(join(folder, 'good.yaml'));
  const line = JSON.parse(await good.firstLine) as { ready: boolean; url: string };
  expect(line.ready).toBe(true);
  const processClient = new OpenAI({ baseURL: `${line.url}/v1`, apiKey: 'x', maxRetries: 0 });
  const answered = await processClient.chat.completions.create({ model: 'm', messages: user('hi') });
  expect(answered.choices[0]?.message.content).toBe('hello');
  const refusal = processClient.chat.completions.create({ model: 'm', messages: user('bye') });
  await expect(refusal).rejects.toMatchObject({ status: 400, code: 'sim_no_rule' });
  good.child.kill('SIGTERM');
  expect(await good.exitCode).toBe(0);
  const bad = startProcess(join(folder, 'bad.yaml'));
  expect(await bad.exitCode).toBe(1);
  expect(await bad.errorText).toMatch(/bad\.yaml is no valid script:\n {2}models\.m\.rules/);
  await rm(folder, { recursive: true });
});

function post(body: unknown) {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${baseUrl}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** The answer to a request that only says how long its body would be. */
async function declareBody(length: number): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
  );
  const [answer] = (await once(socket, 'data')) as [string];
  socket.destroy();
  return answer;
}

function startProcess(script: string) {
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, '--script', script]);
  const errorText = child.stderr
    .setEncoding('utf8')
    .toArray()
    .then((parts: string[]) => parts.join(''));
  const firstLine = once(child.stdout.setEncoding('utf8'), 'data').then(([text]) => String(text));
  const exitCode = once(child, 'exit').then(([code]) => code as number | null);
  return { child, errorText, firstLine, exitCode };
}
