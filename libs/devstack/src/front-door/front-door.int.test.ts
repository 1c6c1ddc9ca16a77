/**
 * The front door before real HTTP servers: paths, streams, services that are away, a port that is taken.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { openFrontDoor } from './front-door.ts';
import type { FrontDoor } from './front-door.ts';

let service: Server;
let door: FrontDoor;
let port = 0;
let onRequest: (request: IncomingMessage, response: ServerResponse) => unknown;

beforeAll(async () => {
  service = createServer((request, response) => onRequest(request, response)).listen(0, '127.0.0.1');
  await once(service, 'listening');
  const up = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const down = `http://127.0.0.1:${await freePort()}`;
  port = await freePort();
  door = await openFrontDoor(
    { orchestrator: up, toolRunner: down, llmGateway: up, traceStore: up },
    { port, command: 'npm run dev' },
  );
});
afterAll(async () => {
  await door.stop();
  service.close();
});

test('a request arrives as it was sent, and its answer comes back', async () => {
  onRequest = async (request, response) => {
    const body = await text(request);
    response.writeHead(201, { 'content-type': 'application/json', 'x-seen': request.headers.authorization ?? '' });
    response.end(JSON.stringify({ method: request.method, url: request.url, length: body.length }));
  };
  const body = 'x'.repeat(20 * 1024 * 1024);
  const response = await fetch(`${door.url}/v1/runs?wait=30`, {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body,
  });
  expect(response.status).toBe(201);
  expect(response.headers.get('x-seen')).toBe('Bearer k');
  expect(await response.json()).toEqual({ method: 'POST', url: '/v1/runs?wait=30', length: body.length });
});

test('an event reaches the client while the stream goes on, and the service learns when the client leaves', async () => {
  const left = Promise.withResolvers<void>();
  onRequest = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\n\n');
    response.on('close', () => left.resolve());
  };
  const abort = new AbortController();
  const response = await fetch(`${door.url}/v1/runs/r1/events`, { signal: abort.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect(await reader?.read()).toEqual({ done: false, value: 'data: first\n\n' });
  abort.abort();
  await left.promise;
});

test('a service that is away is a 503 problem that names it', async () => {
  const response = await fetch(`${door.url}/v1/tools/refund`);
  expect(response.status).toBe(503);
  expect(response.headers.get('content-type')).toContain('application/problem+json');
  expect(await response.json()).toMatchObject({
    status: 503,
    code: 'unavailable',
    detail: expect.stringContaining('tool-runner'),
  });
});

test('a 503 of a service is passed on, once', async () => {
  let count = 0;
  onRequest = (_request, response) => {
    count += 1;
    response.writeHead(503, { 'retry-after': '1' }).end('busy');
  };
  const response = await fetch(`${door.url}/v1/runs`);
  expect([response.status, await response.text(), count]).toEqual([503, 'busy', 1]);
});

test('a taken port is a sentence that names it and the way out', async () => {
  const urls = { orchestrator: '', toolRunner: '', llmGateway: '', traceStore: '' };
  await expect(openFrontDoor(urls, { port, command: 'npm run demo' })).rejects.toThrow(
    `Port ${port} is already in use by another program. Choose another one: npm run demo -- --port ${port + 10}`,
  );
});
