import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { RejectedError, UnavailableError } from '@pawl/contracts';
import { eventually } from '@pawl/testkit';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createHttp, type HttpServer } from './http.ts';

const logged: string[] = [];
const log = pino(
  { level: 'trace' },
  new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  }),
);
let server: HttpServer;
let part: ReturnType<HttpServer['listen']>;
let check: () => boolean | Promise<boolean> = () => true;

beforeAll(async () => {
  server = await createHttp({
    name: 'test',
    log,
    bodyLimitBytes: 10_000,
    checks: { thing: () => check() },
  });
  const { http } = server;
  const body = z.strictObject({
    name: z.string(),
    size: z.number().positive().optional(),
    any: z.unknown().optional(),
  });
  const schema = { body, params: z.object({ id: z.string() }), response: { 200: z.object({ echo: z.unknown() }) } };
  http.put('/things/:id', { schema }, async (request) => ({ echo: request.body }));
  http.get('/things/:id', { schema: { params: schema.params } }, async () => ({ ok: true }));
  http.get('/rejected', async () => {
    throw new RejectedError('run_ended', 'it has ended');
  });
  http.get('/unavailable', async () => {
    throw new UnavailableError('Postgres does not answer');
  });
  http.get('/bug', async () => {
    throw Object.assign(new TypeError('a bug'), {
      detail: 'row (secret-row)',
      headers: { authorization: 'Bearer secret-key' },
    });
  });
  http.get('/nul', async () => {
    throw Object.assign(new Error('invalid byte sequence for encoding "UTF8": 0x00'), { code: '22021' });
  });
  http.post('/bug', { schema: { body: z.unknown() } }, async () => {
    throw new TypeError('a bug');
  });
  part = server.listen({ host: '127.0.0.1', port: 0 });
  await part.start();
});
beforeEach(() => {
  logged.splice(0);
  check = () => true;
});
afterAll(async () => {
  await part.stop();
});

const json = { 'content-type': 'application/json' };
const put = (body: string | Uint8Array<ArrayBuffer> | undefined, headers: Record<string, string> = json) =>
  fetch(`${part.url()}/things/1`, { method: 'PUT', headers, ...(body !== undefined && { body }) });

async function expectProblem(response: Response, status: number, code: string): Promise<string> {
  expect(response.headers.get('content-type')).toContain('application/problem+json');
  const document = (await response.json()) as Record<string, unknown>;
  expect(document).toMatchObject({ status, code, type: `https://pawl.dev/problems/${code}` });
  expect(response.status).toBe(status);
  expect(String(document['title']).length).toBeGreaterThan(5);
  return String(document['detail']);
}

describe('bodies', () => {
  test('a valid one arrives as it was sent', async () => {
    const sent = { name: 'ñ "[{" \\', size: 1, any: { nested: [[1]] } };
    expect(await (await put(JSON.stringify(sent))).json()).toEqual({ echo: sent });
    const charset = await put('{"name":"x"}', { 'content-type': 'application/json; charset=utf-8' });
    expect(charset.status).toBe(200);
  });

  test.for([
    ['broken JSON', '{"name":', json, 400, 'invalid_json'],
    ['an empty body', '', json, 400, 'invalid_json'],
    ['no body', undefined, {}, 400, 'invalid_request'],
    ['plain text', '{"name":"x"}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['a form', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
    ['a large body', JSON.stringify({ name: 'x'.repeat(20_000) }), json, 413, 'body_too_large'],
    ['an unknown field', '{"name":"x","nmae":"y"}', json, 400, 'invalid_request'],
    ['a field of the wrong type', '{"name":1}', json, 400, 'invalid_request'],
    ['a negative number', '{"name":"x","size":-1}', json, 400, 'invalid_request'],
    ['an array', '[]', json, 400, 'invalid_request'],
    ['a key __proto__', '{"name":"x","any":{"__proto__":{"isAdmin":true}}}', json, 400, 'invalid_json'],
    ['a constructor.prototype', '{"name":"x","any":{"constructor":{"prototype":{"a":1}}}}', json, 400, 'invalid_json'],
    ['4,000 levels', `{"name":"x","any":${'['.repeat(4_000)}${']'.repeat(4_000)}}`, json, 400, 'invalid_json'],
  ] as const)('%s is told by code', async ([, body, headers, status, code]) => {
    await expectProblem(await put(body, headers), status, code);
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
  });

  test('bytes that are not UTF-8 are refused, not replaced', async () => {
    const body = new Uint8Array([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    expect(await expectProblem(await put(body), 400, 'invalid_json')).toContain('UTF-8');
  });

  test.each(['\\ud800', 'x\\uDC00', '\\ud83dx', '\\ud83d\\ud83d\\ude00', '\\\\\\ud800'])(
    'half of a character is refused: %s',
    async (name) =>
      expect(await expectProblem(await put(`{"name":"${name}"}`), 400, 'invalid_json')).toContain(
        'half of a character',
      ),
  );

  test.each(['\\ud83d\\ude00', '\\\\ud800', '\\u0000'])('a whole one is taken: %s', async (name) =>
    expect((await put(`{"name":"${name}"}`)).status).toBe(200),
  );

  test('the sentence names the field', async () => {
    expect(await expectProblem(await put('{"name":1}'), 400, 'invalid_request')).toContain('name');
    expect(await expectProblem(await put('{"name":"x","nmae":1}'), 400, 'invalid_request')).toContain('nmae');
  });
});

describe('paths', () => {
  test('an unknown path and an unknown method get the same kind of answer', async () => {
    const detail = await expectProblem(await fetch(`${part.url()}/nowhere?secret=x`), 404, 'not_found');
    expect(detail).toBe('there is no GET /nowhere');
    await expectProblem(await fetch(`${part.url()}/things/1`, { method: 'DELETE' }), 404, 'not_found');
    await expectProblem(
      await fetch(`${part.url()}/things/1`, { method: 'POST', headers: json, body: '{}' }),
      404,
      'not_found',
    );
  });

  test.for(['/things/%', '/things/%zz', '/things/%ff', '/%c0%ae%c0%ae/'])(
    '%s is a problem, not a crash',
    async (path) => {
      const response = await fetch(`${part.url()}${path}`);
      expect([400, 404]).toContain(response.status);
      expect(response.headers.get('content-type')).toContain('application/problem+json');
    },
  );

  test('a name of 10,000 characters is a problem, too', async () => {
    const response = await fetch(`${part.url()}/things/${'x'.repeat(10_000)}`);
    expect([400, 404, 414]).toContain(response.status);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
  });

  test('what is no HTTP does not end the process', async () => {
    const socket = connect(Number(new URL(part.url()).port), '127.0.0.1');
    socket.resume().end('\u0016\u0003\u0001 no HTTP\r\n\r\n');
    await new Promise((resolve) => socket.on('close', resolve));
    expect((await fetch(`${part.url()}/healthz/live`)).status).toBe(200);
  });
});

describe('what handlers throw', () => {
  test('RejectedError has its status, UnavailableError is 503 with Retry-After, a bug says nothing of itself', async () => {
    expect(await expectProblem(await fetch(`${part.url()}/rejected`), 409, 'run_ended')).toBe('it has ended');
    const unavailable = await fetch(`${part.url()}/unavailable`);
    expect(unavailable.headers.get('retry-after')).toBe('1');
    await expectProblem(unavailable, 503, 'unavailable');
    expect(await expectProblem(await fetch(`${part.url()}/bug`), 500, 'internal_error')).not.toContain('a bug');
    expect(logged.join('')).toContain('a bug');
  });

  test('a text that Postgres can not keep is a mistake of the request', async () => {
    expect(await expectProblem(await fetch(`${part.url()}/nul`), 400, 'invalid_request')).toContain('NUL');
  });

  test('neither bodies nor keys are in the log', async () => {
    const headers = { ...json, authorization: 'Bearer secret-key' };
    await fetch(`${part.url()}/bug`, { headers });
    await fetch(`${part.url()}/bug`, { method: 'POST', headers, body: '{"a":"secret-body"}' });
    await put('{"name":"secret-body","x":', headers);
    await put('{"name":["secret-body"]}', headers);
    await fetch(`${part.url()}/nowhere?key=secret-key`, { headers });
    expect(logged.join('')).not.toContain('secret');
  });
});

/** One request over a connection that may be kept. */
function ask(agent: Agent): Promise<{ connection: string | undefined; socket: Socket }> {
  return new Promise((resolve, reject) => {
    get(`${part.url()}/healthz/live`, { agent }, (response) => {
      const { socket } = response;
      response.resume().once('end', () => resolve({ connection: response.headers.connection, socket }));
    }).once('error', reject);
  });
}

describe('operations', () => {
  const ready = async () => {
    const response = await fetch(`${part.url()}/healthz/ready`);
    return { status: response.status, body: await response.json() };
  };

  test('ready follows the checks: false, a throw and a check that hangs are 503; live asks nobody', async () => {
    expect(await ready()).toEqual({ status: 200, body: { status: 'ok', checks: { thing: true } } });
    for (const broken of [() => false, () => Promise.reject(new Error('x')), () => new Promise<boolean>(() => {})]) {
      check = broken;
      expect(await ready()).toEqual({ status: 503, body: { status: 'waiting', checks: { thing: false } } });
      expect((await fetch(`${part.url()}/healthz/live`)).status).toBe(200);
    }
  });

  test('metrics are Prometheus text; OpenAPI describes the routes', async () => {
    const metrics = await (await fetch(`${part.url()}/metrics`)).text();
    expect(metrics).toMatch(/^# HELP process_cpu/m);
    const document = (await (await fetch(`${part.url()}/openapi.json`)).json()) as {
      openapi: string;
      paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: object }> } }>>;
    };
    expect(document.openapi).toMatch(/^3\./);
    expect(document.paths['/healthz/live']).toBeUndefined();
    const schema = document.paths['/things/{id}']?.['put']?.requestBody?.content['application/json']?.schema;
    expect(schema).toMatchObject({ type: 'object', required: ['name'], additionalProperties: false });
  });

  test('stopping cuts a request that never ends', async () => {
    const { http, listen } = await createHttp({ name: 'test', log, closeWithinMs: 100, checks: {} });
    const begun = Promise.withResolvers<void>();
    http.get('/hangs', () => {
      begun.resolve();
      return new Promise(() => {});
    });
    const other = listen({ host: '127.0.0.1', port: 0 });
    await other.start();
    const hanging = fetch(`${other.url()}/hangs`).catch((error: unknown) => error);
    await begun.promise;
    await other.stop();
    expect(await hanging).toBeInstanceOf(Error);
  });

  test.each(['whole', 'stream'])(
    'stopping waits for an answer under way (%s), and not for its connection',
    async (kind) => {
      const { http, listen } = await createHttp({ name: 'test', log, closeWithinMs: 60_000, checks: {} });
      const [begun, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      http.get('/slow', async (_request, reply) => {
        if (kind === 'stream') reply.hijack().raw.write('a part, ');
        begun.resolve();
        await going.promise;
        if (kind === 'stream') reply.raw.end('the rest');
        return 'a part, the rest';
      });
      const other = listen({ host: '127.0.0.1', port: 0 });
      await other.start();
      const answer = fetch(`${other.url()}/slow`).then((response) => response.text());
      await begun.promise;
      const startedAtMs = performance.now();
      const stopping = other.stop();
      await eventually(() => !http.server.listening);
      going.resolve();
      expect(await answer).toBe('a part, the rest');
      await stopping;
      expect(performance.now() - startedAtMs).toBeLessThan(30_000);
    },
  );

  test('K9 ready is 503 from the moment it drains, while requests are still served and connections are closed', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { socket, connection } = await ask(agent);
    expect(connection).toBe('keep-alive');
    part.drain?.();
    // A connection that is idle is left to its client, and the next answer on it is the last.
    expect(await ask(agent)).toEqual({ socket, connection: 'close' });
    expect((await ask(agent)).socket).not.toBe(socket);
    agent.destroy();
    expect(await ready()).toMatchObject({ status: 503, body: { status: 'draining' } });
    expect((await put('{"name":"x"}')).status).toBe(200);
  });
});
