import { connectBus, connectKeys, connectRegistry, type Bus } from '@pawl/bus';
import { RejectedError, sha256, type Scope } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthorizer } from './authorize.ts';
import { createHttp, type Http } from './http.ts';
import { createLog } from './log.ts';
import { serveRegistry } from './serve-registry.ts';

const servers = useTestServers();
let bus: Bus;
let http: Http;
const closing: (() => void)[] = [];

beforeAll(async () => {
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  const [keys, registry] = await Promise.all([connectKeys(bus), connectRegistry(bus)]);
  closing.push(keys.close, registry.close);
  const addKey = (key: string, app: string, of: { scopes?: Scope[]; expiresAt?: string } = {}) =>
    keys.put(sha256(key), { id: key, app, scopes: of.scopes ?? ['*'], expiresAt: of.expiresAt ?? null });
  await addKey('demo-key', 'demo');
  await addKey('other-key', 'other');
  await addKey('reader-key', 'demo', { scopes: ['runs:read'] });
  await addKey('registry-key', 'demo', { scopes: ['registry'] });
  await addKey('old-key', 'demo', { expiresAt: '2020-01-01T00:00:00.000Z' });
  ({ http } = await createHttp({ name: 'test', log: createLog('test', 'silent'), checks: {} }));
  const authorizer = createAuthorizer({ http, keys, adminKey: 'admin-key', tokens: undefined });
  serveRegistry(http, {
    registry,
    authorizer,
    kinds: ['Tool', 'Agent'],
    validate(object) {
      if (object.metadata.name === 'bad') throw new RejectedError('invalid_request', 'it is bad');
    },
  });
  http.get('/runs', async (request) => authorizer.authorizeApp(request, 'runs:read'));
  http.get('/admin', async (request) => {
    authorizer.authorizeAdmin(request);
    return {};
  });
});
afterAll(async () => {
  await http.close();
  closing.forEach((close) => close());
  await bus.close();
});

type Request = { key?: string; body?: unknown };

async function call(method: 'GET' | 'PUT' | 'DELETE', url: string, { key = 'demo-key', body }: Request = {}) {
  const response = await http.inject({
    method,
    url,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { payload: JSON.stringify(body) }),
  });
  const answer = response.body ? response.json<Record<string, unknown>>() : {};
  return { status: response.statusCode, code: answer['code'], answer };
}

function tool(name: string, app = 'demo', more: object = {}) {
  const spec = { description: 'looks', builtin: { name: 'calculator' } };
  return { apiVersion: 'pawl.dev/v1', kind: 'Tool', metadata: { app, name }, spec, ...more };
}

describe('keys', () => {
  test.for([
    ['none', '', 401, 'unauthorized'],
    ['an unknown one', 'guess', 401, 'unauthorized'],
    ['an expired one', 'old-key', 401, 'unauthorized'],
    ['one without the scope', 'registry-key', 403, 'forbidden'],
    ['the admin’s, for what belongs to an app', 'admin-key', 403, 'forbidden'],
    ['one with the scope', 'reader-key', 200, undefined],
    ['one with every scope', 'demo-key', 200, undefined],
  ] as const)('%s', async ([, key, status, code]) => {
    expect(await call('GET', '/runs', { key })).toMatchObject({ status, code });
  });

  test('an unknown key and an expired one get the same answer', async () => {
    const [unknown, expired] = await Promise.all(['guess', 'old-key'].map((key) => call('GET', '/runs', { key })));
    expect(unknown).toEqual(expired);
  });

  test('only the admin key is admin', async () => {
    expect((await call('GET', '/admin', { key: 'admin-key' })).status).toBe(200);
    expect((await call('GET', '/admin', { key: 'demo-key' })).status).toBe(403);
    expect((await call('GET', '/admin', { key: 'Admin-key' })).status).toBe(401);
  });
});

describe('objects', () => {
  test('are stored, found, listed and removed', async () => {
    const put = await call('PUT', '/v1/tools/look', { body: tool('look') });
    expect(put).toMatchObject({
      status: 200,
      answer: { ...tool('look'), revision: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect((await call('GET', '/v1/tools/look')).answer).toEqual(put.answer);
    expect((await call('GET', '/v1/tools')).answer).toEqual({ items: [put.answer] });
    expect((await call('PUT', '/v1/tools/look', { body: tool('look') })).answer['revision']).toBe(
      put.answer['revision'],
    );
    expect((await call('DELETE', '/v1/tools/look')).status).toBe(204);
    expect(await call('GET', '/v1/tools/look')).toMatchObject({ status: 404, code: 'not_found' });
    expect(await call('DELETE', '/v1/tools/look')).toMatchObject({ status: 404, code: 'not_found' });
  });

  test.for([
    ['another name than the path', tool('other'), 400, 'invalid_request'],
    ['another kind than the path', { ...tool('look'), kind: 'Budget' }, 400, 'invalid_request'],
    ['another app than the key', tool('look', 'other'), 403, 'forbidden'],
    ['an unknown field', tool('look', 'demo', { extra: 1 }), 400, 'invalid_request'],
    ['no spec', { ...tool('look'), spec: undefined }, 400, 'invalid_request'],
    ['a null', null, 400, 'invalid_request'],
  ] as const)('with %s are refused', async ([, body, status, code]) => {
    expect(await call('PUT', '/v1/tools/look', { body })).toMatchObject({ status, code });
    expect((await call('GET', '/v1/tools/look')).status).toBe(404);
  });

  test('that the service itself refuses are not stored', async () => {
    expect(await call('PUT', '/v1/tools/bad', { body: tool('bad') })).toMatchObject({
      status: 400,
      answer: { detail: 'it is bad' },
    });
    expect((await call('GET', '/v1/tools/bad')).status).toBe(404);
  });

  test('a sentence says what is wrong where', async () => {
    const { answer } = await call('PUT', '/v1/tools/look', {
      body: tool('look', 'demo', { spec: { description: '' } }),
    });
    expect(answer['detail']).toContain('spec.description');
  });

  test('of another app are not there, whatever the query says', async () => {
    await call('PUT', '/v1/tools/theirs', { key: 'other-key', body: tool('theirs', 'other') });
    expect((await call('GET', '/v1/tools/theirs')).status).toBe(404);
    expect((await call('GET', '/v1/tools/theirs?app=other')).status).toBe(403);
    expect((await call('DELETE', '/v1/tools/theirs?app=other')).status).toBe(403);
    expect((await call('GET', '/v1/tools')).answer).toEqual({ items: [] });
    expect((await call('GET', '/v1/tools?app=demo')).status).toBe(200);
    expect((await call('GET', '/v1/tools/theirs', { key: 'other-key' })).status).toBe(200);
  });

  test('are the admin’s with ?app=, and the app of a PUT is in the object', async () => {
    const admin = { key: 'admin-key' };
    expect((await call('PUT', '/v1/tools/made', { ...admin, body: tool('made', 'other') })).status).toBe(200);
    expect(await call('GET', '/v1/tools/made', admin)).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((await call('GET', '/v1/tools/made?app=other', admin)).status).toBe(200);
    expect((await call('GET', '/v1/tools/made?app=demo', admin)).status).toBe(404);
    expect((await call('GET', '/v1/tools?app=NOT%20A%20NAME', admin)).status).toBe(400);
    expect((await call('DELETE', '/v1/tools/made?app=other', admin)).status).toBe(204);
  });

  test('need the scope registry', async () => {
    expect((await call('GET', '/v1/tools', { key: 'reader-key' })).status).toBe(403);
    expect((await call('GET', '/v1/tools', { key: 'registry-key' })).status).toBe(200);
  });
});
