import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '@pawl/testkit';
import { createLeanFetch } from './lean-fetch.ts';

let server: Server;
let agent: Agent;
let client: OpenAI;
let url: string;
let respond: RequestListener;
let connections: number;

beforeEach(async () => {
  connections = 0;
  server = createServer((request, response) => respond(request, response));
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  agent = new Agent({ keepAliveTimeout: 30_000 });
  client = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0, fetch: createLeanFetch(agent) });
});
afterEach(async () => {
  await agent.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function talk(signal?: AbortSignal): Promise<string> {
  const stream = await client.chat.completions.create(
    { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], stream: true },
    signal ? { signal } : {},
  );
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

const sendReply: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const content of ['Hello', ' there.']) {
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
  }
  response.write('data: [DONE]\n\n');
};

describe('a connection', () => {
  it('is used again although the reader leaves at the last event and the end comes a little later', async () => {
    let end = () => {};
    respond = (request, response) => {
      sendReply(request, response);
      end = () => void response.end();
    };
    for (let call = 0; call < 3; call += 1) {
      expect(await talk()).toBe('Hello there.');
      end();
      await eventually(isIdle);
    }
    expect(connections).toBe(1);
  });

  it('is closed where the end does not come', async () => {
    respond = sendReply;
    expect(await talk()).toBe('Hello there.');
    await eventually(async () => (await countConnections()) === 0);
  });

  it('is closed at once by an abort', async () => {
    const abort = new AbortController();
    respond = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'He' } }] })}\n\n`);
      setImmediate(() => abort.abort());
    };
    await talk(abort.signal).catch(() => undefined);
    await eventually(async () => (await countConnections()) === 0);
  });
});

it('follows no redirect and asks for nothing compressed', async () => {
  const seen: string[] = [];
  respond = (request, response) => {
    seen.push(`${request.url} ${request.headers['accept-encoding']}`);
    response.writeHead(302, { location: `${url}/elsewhere` }).end();
  };
  await expect(talk()).rejects.toMatchObject({ status: 302 });
  expect(seen).toEqual(['/chat/completions identity']);
});

it('gives the words and headers of a refusal', async () => {
  respond = (_request, response) => {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' });
    response.end(JSON.stringify({ error: { message: 'slow down', code: 'busy' } }));
  };
  const failure: unknown = await talk().catch((error: unknown) => error);
  expect(failure).toMatchObject({ status: 429, code: 'busy', message: expect.stringContaining('slow down') });
  expect((failure as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('7');
});

function isIdle(): boolean {
  const stats = agent.stats[url];
  return stats !== undefined && 'free' in stats && stats.free === 1;
}

async function countConnections(): Promise<number> {
  return await new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
