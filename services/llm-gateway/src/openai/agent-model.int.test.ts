/** An agent as a model. The orchestrator's side of HTTP is played here; what the run does is none of the gateway's business. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problem } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import type { AgentRun } from './agent-model.ts';
import { openBench, type Bench, type Gateway } from '../testing/gateway-bench.ts';

const servers = useTestServers();
let bench: Bench;
let gateway: Gateway;
let orchestrator: Server;
let client: OpenAI;
const seen: {
  method?: string | undefined;
  url?: string | undefined;
  authorization?: string | undefined;
  body: string;
}[] = [];
let answers: { status: number; body: object }[] = [];

beforeAll(async () => {
  bench = await openBench(servers);
  orchestrator = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method, url, headers } = request;
      seen.push({ method, url, authorization: headers.authorization, body: Buffer.concat(parts).toString() });
      const { status, body } = answers.shift() ?? { status: 500, body: {} };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => orchestrator.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(orchestrator.address() as AddressInfo).port}`;
  gateway = await bench.startGateway({ PAWL_ORCHESTRATOR_URL: url });
  client = new OpenAI({ apiKey: bench.appKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, logLevel: 'off' });
});
afterAll(async () => {
  await gateway.stop();
  orchestrator.closeAllConnections();
  orchestrator.close();
  await bench.close();
});

const view = (changes: Partial<AgentRun>): AgentRun => ({
  id: `run_${'0'.repeat(32)}`,
  status: 'ended',
  phase: 'done',
  stopReason: 'final_answer',
  detail: null,
  answer: 'It is line C.',
  tokens: 77,
  startedAt: new Date().toISOString(),
  ...changes,
});
const ask = {
  model: 'agent:analyst',
  messages: [
    { role: 'system' as const, content: 'Be brief.' },
    { role: 'user' as const, content: 'Hello' },
    { role: 'assistant' as const, content: 'Hi.' },
    { role: 'user' as const, content: 'Why did sales drop?' },
  ],
};

describe('model "agent:<name>"', () => {
  it('starts a run with the key of the caller, waits for it, and gives its answer', async () => {
    answers = [
      { status: 201, body: view({ status: 'running', phase: 'act', stopReason: null, answer: null }) },
      { status: 200, body: view({}) },
    ];
    const completion = await client.chat.completions.create(ask, { headers: { 'x-pawl-user': 'eve' } });
    expect(completion).toMatchObject({
      model: 'agent:analyst',
      choices: [{ message: { content: 'It is line C.' }, finish_reason: 'stop' }],
      usage: { total_tokens: 77 },
    });
    expect(seen.map(({ method, url }) => [method, url])).toEqual([
      ['POST', '/v1/runs?wait=30'],
      ['GET', `/v1/runs/run_${'0'.repeat(32)}?wait=30`],
    ]);
    expect(seen.every(({ authorization }) => authorization === `Bearer ${bench.appKey}`)).toBe(true);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      agent: 'analyst',
      input: 'Why did sales drop?',
      user: { id: 'eve' },
      environment: {
        conversation: [
          { role: 'system', text: 'Be brief.' },
          { role: 'user', text: 'Hello' },
          { role: 'assistant', text: 'Hi.' },
        ],
      },
    });
  });

  it('streams the answer, and says of a run at its limit that it was one', async () => {
    answers = [{ status: 201, body: view({ stopReason: 'max_steps', answer: 'So far: line C.' }) }];
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('So far: line C.');
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('length');
  });

  it('speaks the Responses API, too, whole and streamed', async () => {
    const request = { model: ask.model, instructions: 'Be brief.', input: 'Why did sales drop?' };
    answers = [{ status: 201, body: view({}) }];
    const whole = await client.responses.create(request);
    expect(whole).toMatchObject({ output_text: 'It is line C.', status: 'completed', store: false });
    answers = [{ status: 201, body: view({}) }];
    const events = await Array.fromAsync(await client.responses.create({ ...request, stream: true }));
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_event, place) => place));
    answers = [{ status: 404, body: problem('unknown_agent', 'there is no agent analyst') }];
    await expect(client.responses.create({ ...request, stream: true })).rejects.toMatchObject({ status: 404 });
  });

  it('tells what the orchestrator refuses, and that it is away', async () => {
    answers = [{ status: 404, body: problem('unknown_agent', 'there is no agent analyst') }];
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status: 404, code: 'unknown_agent' });
    answers = [{ status: 502, body: { odd: true } }];
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status: 503, code: 'unavailable' });
    answers = [{ status: 200, body: view({ status: 'waiting', phase: 'waiting', stopReason: null, answer: null }) }];
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ code: 'model_unavailable' });
  });
});
