import { expect, test } from 'vitest';
import { z } from 'zod';
import type { KeyRecord } from '@pawl/contracts';
import { createAuthorizer } from './authorize.ts';
import { createHttp } from './http.ts';
import { createLog } from './log.ts';

const known = new Map<string, KeyRecord>([
  ['reader', { id: 'reader', app: 'demo', scopes: ['runs:read'], expiresAt: null }],
  ['writer', { id: 'writer', app: 'demo', scopes: ['runs:write'], expiresAt: null }],
]);
const keys = { find: (key: string) => known.get(key), apps: () => ['demo'] } as never;

async function serve(tokens?: never) {
  const { http } = await createHttp({
    name: 'test',
    log: createLog('test', 'silent'),
    bodyLimitBytes: 100,
    checks: {},
  });
  const authorizer = createAuthorizer({ http, keys, adminKey: undefined, tokens });
  const schema = { body: z.strictObject({ name: z.string() }), querystring: z.strictObject({}) };
  http.post('/v1/things', { schema }, async (request) => authorizer.authorizeApp(request, 'runs:write'));
  const onRequest = async (request: Parameters<typeof authorizer.authorize>[0]) =>
    void authorizer.authorizeApp(request, 'runs:write');
  http.post('/v1/guarded', { onRequest, schema }, async () => ({}));
  return { http, authorizer };
}

const json = 'application/json';
const wrong: [string, { url?: string; type?: string; body: string }][] = [
  ['broken JSON', { body: '{"name":' }],
  ['a field of the wrong type', { body: '{"name":1}' }],
  ['another type of body', { type: 'text/plain', body: 'x' }],
  ['a body that is too large', { body: JSON.stringify({ name: 'x'.repeat(200) }) }],
  ['a query that is not known', { url: '?x=1', body: '{"name":"x"}' }],
];

test.each(wrong)(
  '%s of somebody unknown is answered with 401, of somebody without the right with 403',
  async (_name, sent) => {
    const { http } = await serve();
    const ask = async (path: string, key?: string) => {
      const headers = { 'content-type': sent.type ?? json, ...(key && { authorization: `Bearer ${key}` }) };
      const url = `${path}${sent.url ?? ''}`;
      return (await http.inject({ method: 'POST', url, headers, payload: sent.body })).statusCode;
    };
    expect(await ask('/v1/things')).toBe(401);
    expect(await ask('/v1/things', 'nobody')).toBe(401);
    expect(await ask('/v1/guarded', 'reader')).toBe(403);
    for (const path of ['/v1/things', '/v1/guarded']) expect([400, 413, 415]).toContain(await ask(path, 'writer'));
  },
);

test('what needs no key is answered without, and a path that is not there is not', async () => {
  const { http } = await serve();
  const statusOf = async (url: string) => (await http.inject({ url })).statusCode;
  expect(await Promise.all(['/healthz/live', '/metrics', '/v1/nowhere'].map(statusOf))).toEqual([200, 200, 404]);
});

test('a key or a token that has ended since is refused when it is asked again', async () => {
  let expiresAtMs = Date.now() + 60_000;
  const bearer = { apps: ['demo'], user: { id: 'ana', roles: [] }, scopes: ['runs:read'] };
  const tokens = {
    verify: async () => ({
      ...bearer,
      get expiresAtMs() {
        return expiresAtMs;
      },
    }),
  };
  const { authorizer } = await serve(tokens as never);
  const byToken = { headers: { authorization: 'Bearer eyJh.eyJi.c' } };
  const byKey = { headers: { authorization: 'Bearer reader' } };
  await authorizer.identify(byToken);
  const isIn = (request: typeof byKey) => {
    try {
      return authorizer.authorizeApp(request, 'runs:read').app === 'demo';
    } catch {
      return false;
    }
  };
  expect([isIn(byToken), isIn(byKey)]).toEqual([true, true]);
  expiresAtMs = Date.now() - 1;
  known.delete('reader');
  expect([isIn(byToken), isIn(byKey)]).toEqual([false, false]);
});
