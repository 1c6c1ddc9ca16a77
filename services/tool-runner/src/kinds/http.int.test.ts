import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHttpKind } from './http.ts';
import { createTargets } from '@pawl/service/targets';
import { createHeavyWork } from '../heavy/heavy-work.ts';
import { callKind, dataOf, describeKind, toolOf } from './kind.suite.ts';

type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string };

const heavy = createHeavyWork();
const seen: Seen[] = [];
let open = 0;
let connections = 0;
let server: Server;
let other: Server;
let base = '';
let otherBase = '';

const secrets = () => (name: string) => (name === 'TOKEN' ? 'sesame' : undefined);
const kind = createHttpKind({ targets: createTargets(['127.0.0.1']), secrets, resultBytesMax: 100_000, heavy });
const object = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

function get(path: string, more: Record<string, unknown> = {}) {
  return toolOf({ http: { method: 'GET', url: `${base}${path}` }, ...more });
}

function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  const url = new URL(request.url ?? '/', base);
  const headers = { 'content-type': 'application/json' };
  const status = /^\/status\/(\d+)$/.exec(url.pathname)?.[1];
  if (status) {
    response.writeHead(Number(status), headers).end('{"error":"no such customer"}');
  } else if (url.pathname === '/endless') {
    open += 1;
    response.on('close', () => (open -= 1));
    response.writeHead(200, headers).write('[');
  } else if (url.pathname === '/large') {
    response.writeHead(200, headers).end(JSON.stringify('x'.repeat(200_000)));
  } else if (url.pathname === '/flood') {
    response.writeHead(200, headers).write('["');
    const piece = 'x'.repeat(500_000);
    let sent = 0;
    const more = () => {
      while (sent < 300 && !response.destroyed && response.write(piece)) sent += 1;
      if (sent < 300 && !response.destroyed) response.once('drain', more);
    };
    more();
  } else if (url.pathname === '/bomb') {
    response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(5_000_000, 32)));
  } else if (url.pathname === '/redirect') {
    response
      .writeHead(Number(url.searchParams.get('status') ?? 302), { location: url.searchParams.get('to') ?? '/' })
      .end();
  } else if (url.pathname === '/short') {
    response.writeHead(200, { ...headers, 'content-length': '100' }).write('{"a":', () => request.socket.destroy());
  } else if (url.pathname === '/pieces') {
    response
      .writeHead(200, { ...headers, 'content-length': '7' })
      .write('{"a":', () => setImmediate(() => response.end('1}')));
  } else if (url.pathname === '/garbled') {
    response.writeHead(200, { ...headers, 'content-encoding': url.searchParams.get('as') ?? '' }).end('not compressed');
  } else if (url.pathname === '/reset') {
    request.socket.destroy();
  } else if (url.pathname === '/html') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi\u202e <b>you</b></p><script>alert(1)</script>');
  } else if (url.pathname === '/pretty') {
    response.writeHead(200, headers).end('{\n  "id": 9007199254740993,\n  "price": 1.10\n}');
  } else if (url.pathname === '/empty') {
    response.writeHead(204).end();
  } else if (url.pathname === '/picture') {
    response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(10));
  } else {
    response.writeHead(200, headers).end(`{"got":${body === '' ? 'null' : body}}`);
  }
}

async function listen(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const created = createServer(handler);
  await new Promise<void>((resolve) => created.listen(0, '127.0.0.1', resolve));
  return created;
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    answer(request, response, body);
  });
}

beforeAll(async () => {
  server = await listen(onRequest);
  server.on('connection', () => (connections += 1));
  other = await listen(onRequest);
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  otherBase = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
});
beforeEach(() => void seen.splice(0));
afterAll(async () => {
  server.closeAllConnections();
  other.closeAllConnections();
  server.close();
  other.close();
  await kind.close();
});

describeKind(
  'http',
  () => ({
    kind,
    working: {
      tool: toolOf({ http: { method: 'POST', url: `${base}/echo` }, effect: 'write', parameters: object('a') }),
      args: '{"a":[1,{"b":"ü"}]}',
      data: { got: { a: [1, { b: 'ü' }] } },
    },
    exact: { tool: toolOf({ http: { method: 'POST', url: `${base}/echo` } }), args: '{"id":9007199254740993}' },
    endless: {
      tool: get('/endless'),
      args: '{}',
      isUnderWay: async () => open === 1,
      isReleased: async () => open === 0,
    },
    unreachable: { tool: toolOf({ http: { method: 'GET', url: 'http://127.0.0.1:1/' } }), args: '{}' },
    forbidden: { tool: toolOf({ http: { method: 'GET', url: 'http://localhost:1/' } }), args: '{}' },
    withoutSecret: {
      tool: toolOf({ http: { method: 'GET', url: base, headers: { 'X-Key': '${secret:ABSENT}' } } }),
      args: '{}',
    },
    tooLarge: { tool: get('/large'), args: '{}' },
    refused: [
      toolOf({ http: { method: 'GET', url: 'http://127.0.0.1/{id}' } }),
      toolOf({ http: { method: 'GET', url: 'http://{id}/' }, parameters: object('id') }),
      toolOf({ http: { method: 'GET', url: 'http://10.0.0.1/' } }),
      toolOf({ http: { method: 'GET', url: 'file:///etc/passwd' } }),
      toolOf({ http: { method: 'GET', url: 'http://' } }),
      toolOf({ http: { method: 'GET', url: base, headers: { Host: 'internal' } } }),
    ],
  }),
  ['exact', 'endless', 'unreachable', 'forbidden', 'withoutSecret', 'tooLarge'],
);

describe('requests', () => {
  test('arguments go into the path and the query, encoded and exact', async () => {
    const tool = get('/customers/{id}/orders?fixed=1', { parameters: object('id') });
    await callKind(kind, {
      tool,
      args: '{"id":"a/b?c","n":2512292042121000001,"tags":["x y",2.50],"gone":null,"o":{"p":1}}',
    });
    const url = new URL(seen[0]?.url ?? '', base);
    expect(url.pathname).toBe('/customers/a%2Fb%3Fc/orders');
    expect([...url.searchParams]).toEqual([
      ['fixed', '1'],
      ['n', '2512292042121000001'],
      ['tags', 'x y'],
      ['tags', '2.50'],
      ['o', '{"p":1}'],
    ]);
  });

  test.each(['..', '.', ''])('the value "%s" may not change the path', async (id) => {
    const tool = get('/customers/{id}', { parameters: object('id') });
    expect(await callKind(kind, { tool, args: JSON.stringify({ id }) })).toMatchObject({ code: 'invalid_arguments' });
    expect(seen).toEqual([]);
  });

  test('secrets, the trace and the key of the effect are sent', async () => {
    const tool = toolOf({
      http: { method: 'POST', url: `${base}/refund`, headers: { Authorization: 'Bearer ${secret:TOKEN}' } },
      effect: 'write',
    });
    const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
    await callKind(kind, { tool, args: '{}' }, { effectKey: 'k1', trace });
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer sesame',
      'idempotency-key': 'k1',
      traceparent: `00-${trace.traceId}-${trace.spanId}-01`,
    });
  });
});

describe('answers', () => {
  test('JSON is compacted without touching its digits', async () => {
    expect(dataOf(await callKind(kind, { tool: get('/pretty'), args: '{}' }))).toBe(
      '{"id":9007199254740993,"price":1.10}',
    );
  });

  test('one after the other come over the same connection, in one piece or in several', async () => {
    await callKind(kind, { tool: get('/first'), args: '{}' });
    const before = connections;
    for (const path of ['/whole', '/pieces', '/whole', '/empty', '/pretty']) {
      expect(await callKind(kind, { tool: get(path), args: '{}' })).toMatchObject({ kind: 'result' });
    }
    expect(connections).toBe(before);
  });

  test('HTML becomes text, without scripts and with visible direction marks', async () => {
    expect(dataOf(await callKind(kind, { tool: get('/html'), args: '{}' }))).toBe(
      JSON.stringify(String.raw`Hi\u{202e} you`),
    );
  });

  test('no content and pictures are told as such', async () => {
    expect(await callKind(kind, { tool: get('/empty'), args: '{}' })).toMatchObject({
      data: 'null',
      note: expect.stringContaining('204'),
    });
    expect(await callKind(kind, { tool: get('/picture'), args: '{}' })).toMatchObject({
      data: '{"contentType":"image/png","bytes":10}',
    });
  });

  test.each([
    [400, { code: 'tool_failed', isTransient: false, effect: 'none' }],
    [403, { code: 'tool_failed', isTransient: false, effect: 'none' }],
    [429, { code: 'rate_limited', isTransient: false, effect: 'none' }],
    [418, { code: 'tool_failed', isTransient: false, effect: 'none' }],
    [500, { code: 'tool_failed', isTransient: false, effect: 'possible' }],
    [503, { code: 'tool_failed', isTransient: true, effect: 'possible' }],
    [504, { code: 'tool_failed', isTransient: true, effect: 'possible' }],
  ])('status %i is a failure with its own meaning', async (status, meaning) => {
    const outcome = await callKind(kind, { tool: get(`/status/${status}`), args: '{}' });
    expect(outcome).toMatchObject({ kind: 'failure', ...meaning, message: expect.stringContaining(`HTTP ${status}`) });
    expect('data' in outcome).toBe(status < 500);
  });

  test('a 403 asks not to try the same credentials again', async () => {
    const outcome = await callKind(kind, { tool: get('/status/403'), args: '{}' });
    expect(outcome).toMatchObject({
      suggestion: expect.stringContaining("Don't call it again with the same credentials"),
    });
  });

  test.each(['/reset', '/short', '/garbled?as=gzip', '/garbled?as=br', '/garbled?as=deflate'])(
    'an answer that breaks off leaves open what happened: %s',
    async (path) => {
      const outcome = await callKind(kind, { tool: get(path), args: '{}' });
      expect(outcome).toMatchObject({ code: 'tool_failed', effect: 'possible', isTransient: true });
    },
  );

  test('what was compressed counts by its real size', async () => {
    expect(await callKind(kind, { tool: get('/bomb'), args: '{}' })).toMatchObject({ code: 'tool_result_too_large' });
  });
});

describe('redirects', () => {
  const to = (target: string, status = 302) => `/redirect?status=${status}&to=${encodeURIComponent(target)}`;

  test('are followed, three at the most', async () => {
    expect(dataOf(await callKind(kind, { tool: get(to(to(to('/echo')))), args: '{}' }))).toBe('{"got":null}');
    const outcome = await callKind(kind, { tool: get(to(to(to(to('/echo'))))), args: '{}' });
    expect(outcome).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('more than 3 times') });
  });

  test.each([
    'http://169.254.169.254/',
    'http://2130706434/',
    'http://[::1]/',
    'http://localhost/',
    'file:///etc/passwd',
    'gopher://x/',
  ])('to %s are refused', async (target) => {
    expect(await callKind(kind, { tool: get(to(target)), args: '{}' })).toMatchObject({ code: 'target_not_allowed' });
  });

  test('to another origin lose the declared headers and the key', async () => {
    const headers = { Authorization: 'Bearer ${secret:TOKEN}', 'X-Api-Key': 'k' };
    const tool = toolOf({ http: { method: 'POST', url: `${base}${to(`${otherBase}/echo`, 307)}`, headers } });
    await callKind(kind, { tool, args: '{"a":1}' }, { effectKey: 'k1' });
    expect(seen.map((request) => request.headers.authorization)).toEqual(['Bearer sesame', undefined]);
    expect(seen[1]?.headers['x-api-key']).toBeUndefined();
    expect(seen[1]?.headers['idempotency-key']).toBeUndefined();
    expect(seen[1]).toMatchObject({ method: 'POST', body: '{"a":1}' });
  });

  test('after a POST with 303 become a GET without a body', async () => {
    const tool = toolOf({ http: { method: 'POST', url: `${base}${to('/echo', 303)}` } });
    await callKind(kind, { tool, args: '{"a":1}' });
    expect(seen[1]).toMatchObject({ method: 'GET', body: '' });
  });

  test.each([
    ['an address that nobody listens at', 303, 'possible', 'http://127.0.0.1:1/'],
    ['an address that is not allowed', 303, 'possible', 'http://169.254.169.254/'],
    ['a page that is not there', 302, 'possible', '/status/404'],
    ['the place where the request belongs, which refuses it', 307, 'none', '/status/422'],
    ['the place where the request belongs, which is away', 308, 'none', 'http://127.0.0.1:1/'],
  ])('I10: of a POST that was sent on to %s, with %i, the effect is %s', async (...[, status, effect, target]) => {
    const tool = toolOf({ http: { method: 'POST', url: `${base}${to(target, status)}` }, effect: 'write' });
    const outcome = await callKind(kind, { tool, args: '{}' });
    expect(seen[0]?.method).toBe('POST');
    expect(outcome).toMatchObject({ kind: 'failure', effect });
  });

  test('C7: 150 MB are broken off at the cap, and memory stays', async () => {
    const before = process.memoryUsage().rss;
    expect(await callKind(kind, { tool: get('/flood'), args: '{}' })).toMatchObject({ code: 'tool_result_too_large' });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });
});
