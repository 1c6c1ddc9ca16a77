/** Tokens of a real authorization server at the door of a real HTTP server. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Writable } from 'node:stream';
import { SignJWT } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { connectBus, connectKeys, type Bus, type Keys } from '@pawl/bus';
import { sha256 } from '@pawl/contracts';
import { eventually, startAuthorizationServer, useTestServers, type AuthorizationServer } from '@pawl/testkit';
import { actingUser, createAuthorizer } from '../authorize.ts';
import { createHttp, type Http } from '../http.ts';
import { oidcConfigShape, tokenVerifierOf } from './oidc-config.ts';
import { createTokenVerifier, type TokenVerifierOptions } from './token-verifier.ts';

const servers = useTestServers();
let issuer: AuthorizationServer;
let bus: Bus;
let keys: Keys;
let http: Http;
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
const schema = z.object(oidcConfigShape);
const configOf = (more: Record<string, string> = {}) => schema.parse({ PAWL_OIDC_ISSUER: issuer.issuer, ...more });

beforeAll(async () => {
  issuer = await startAuthorizationServer({
    audience: 'pawl',
    programs: {
      shop: { scope: 'runs:read runs:write', claims: { pawl_app: 'shop' } },
      desk: { scope: 'runs:read', claims: { pawl_app: 'desk', realm_access: { roles: ['pawl-operator', 'sales'] } } },
      both: { scope: 'runs:read', claims: { pawl_app: ['shop', 'desk'] } },
      proxy: { scope: 'runs:read runs:act-as', claims: { pawl_app: 'shop' } },
      nobody: { scope: 'runs:read', claims: { pawl_app: 'no-such-app' } },
    },
  });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  keys = await connectKeys(bus);
  for (const app of ['shop', 'desk']) {
    await keys.put(sha256(`key-of-${app}`), { id: `id-of-${app}`, app, scopes: ['*'], expiresAt: null });
  }
  await eventually(() => keys.apps().length === 2);
});
beforeEach(async () => {
  await http?.close();
  http = await serve(createTokenVerifierOf());
});
afterAll(async () => {
  await http?.close();
  keys?.close();
  await bus?.close();
  await issuer?.stop();
});

/** As a service makes it, with times that suit a test. */
function createTokenVerifierOf(options: Partial<TokenVerifierOptions> = {}) {
  return createTokenVerifier({
    issuer: issuer.issuer,
    audience: ['pawl'],
    algorithms: configOf().PAWL_OIDC_ALGORITHMS,
    leewayS: 30,
    claims: {
      app: 'pawl_app',
      appDefault: undefined,
      user: 'sub',
      scopes: ['scope'],
      roles: ['realm_access.roles'],
      scopesOfRole: configOf().PAWL_OIDC_ROLE_SCOPES,
    },
    ...options,
  });
}

async function serve(tokens: ReturnType<typeof tokenVerifierOf>): Promise<Http> {
  const server = await createHttp({ name: 'test', log, checks: {} });
  const authorizer = createAuthorizer({ http: server.http, keys, adminKey: 'admin-key', tokens });
  server.http.get('/runs', async (request) => authorizer.authorizeApp(request, 'runs:read'));
  server.http.post('/runs', async (request) => authorizer.authorizeApp(request, 'runs:write'));
  server.http.get('/user', async (request) => {
    const named = request.headers['x-test-user'];
    const user = typeof named === 'string' ? { id: named } : undefined;
    return actingUser(authorizer.authorizeApp(request, 'runs:read'), user) ?? {};
  });
  server.http.get('/admin', async (request) => {
    authorizer.authorizeAdmin(request);
    return {};
  });
  return server.http;
}

type Asked = { method?: 'POST'; app?: string; user?: string };

async function ask(path: string, token: string, { method, app, user }: Asked = {}) {
  const headers = { ...(app && { 'x-pawl-app': app }), ...(user && { 'x-test-user': user }) };
  const response = await http.inject({
    method: method ?? 'GET',
    url: path,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const body = response.json<Record<string, unknown>>();
  return { status: response.statusCode, body, headers: response.headers };
}

type Forged = {
  claims?: Record<string, unknown>;
  header?: { alg?: string; kid?: string };
  key?: KeyObject | Uint8Array;
  expiresInS?: number;
};

/** A token as the issuer would sign it, but for what a test changes. */
function sign({ claims = {}, header = {}, key, expiresInS = 300 }: Forged = {}): Promise<string> {
  const { kid, privateKey } = issuer.signingKey();
  const now = Math.floor(Date.now() / 1_000);
  const body = { iss: issuer.issuer, aud: 'pawl', sub: 'ana', pawl_app: 'shop', scope: 'runs:read', ...claims };
  return new SignJWT(body)
    .setProtectedHeader({ alg: 'RS256', kid, ...header })
    .setIssuedAt(now)
    .setExpirationTime(now + expiresInS)
    .sign(key ?? privateKey);
}

const discovery = '/.well-known/openid-configuration';
const keyFetches = () => issuer.asked.filter((path) => path === '/jwks').length;

describe('a token of the issuer', () => {
  test('names app, scopes and user; the issuer is found by its discovery document', async () => {
    const { status, body } = await ask('/runs', await issuer.tokenOf('shop'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'app', app: 'shop', scopes: ['runs:read', 'runs:write'], keyId: 'user:shop' });
    expect(body['user']).toEqual({ id: 'shop', roles: [] });
    expect(issuer.asked).toContain(discovery);
  });

  test('brings the scopes of its roles, and is refused what none of them brings', async () => {
    const token = await issuer.tokenOf('desk');
    expect((await ask('/runs', token, { method: 'POST' })).body).toMatchObject({
      app: 'desk',
      user: { id: 'desk', roles: ['pawl-operator', 'sales'] },
    });
    expect((await ask('/runs', await sign(), { method: 'POST' })).body).toMatchObject({
      status: 403,
      code: 'forbidden',
      detail: 'the token lacks the scope runs:write',
    });
    expect((await ask('/admin', token)).status).toBe(403);
  });

  test('of several apps says for which it asks, and reaches no other', async () => {
    const token = await issuer.tokenOf('both');
    expect((await ask('/runs', token, { app: 'desk' })).body).toMatchObject({ app: 'desk' });
    expect((await ask('/runs', token)).body).toMatchObject({
      status: 403,
      detail: expect.stringContaining('shop, desk'),
      apps: ['shop', 'desk'],
    });
    for (const name of ['shop', 'desk'] as const) {
      const other = name === 'shop' ? 'desk' : 'shop';
      expect((await ask('/runs', await issuer.tokenOf(name), { app: other })).status).toBe(403);
    }
  });

  test('makes no app: one without a key is none', async () => {
    expect((await ask('/runs', await issuer.tokenOf('nobody'))).body).toMatchObject({
      status: 403,
      detail: expect.stringContaining('no-such-app'),
    });
  });

  test('names no other user, unless it has the scope runs:act-as', async () => {
    const token = await issuer.tokenOf('shop');
    expect((await ask('/user', token)).body).toMatchObject({ id: 'shop' });
    expect((await ask('/user', token, { user: 'shop' })).body).toMatchObject({ id: 'shop' });
    expect((await ask('/user', token, { user: 'eve' })).body).toMatchObject({
      status: 403,
      code: 'forbidden',
    });
    expect((await ask('/user', await issuer.tokenOf('proxy'), { user: 'eve' })).body).toEqual({ id: 'eve' });
  });

  test('stands beside keys, which work as before', async () => {
    expect((await ask('/runs', 'key-of-shop')).body).toMatchObject({ app: 'shop', keyId: 'id-of-shop' });
    expect((await ask('/runs', 'key-of-shop')).body).not.toHaveProperty('user');
    expect((await ask('/admin', 'admin-key')).status).toBe(200);
    expect((await ask('/runs', 'wrong')).headers['www-authenticate']).toBe('Bearer');
  });
});

describe('is refused with a sentence and 401', () => {
  const publicPem = () => Buffer.from(issuer.signingKey().publicKey.export({ type: 'spki', format: 'pem' }));
  const unsigned = async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const [, claims] = (await sign()).split('.');
    return `${part({ alg: 'none' })}.${claims}.`;
  };
  test.each<[string, () => Promise<string>, string]>([
    ['expired', () => sign({ expiresInS: -31 }), 'has expired'],
    ['not valid yet', () => sign({ claims: { nbf: Math.floor(Date.now() / 1_000) + 90 } }), 'not valid yet'],
    ['another audience', () => sign({ claims: { aud: ['other', 'pawls'] } }), 'another audience'],
    ['no audience', () => sign({ claims: { aud: undefined } }), 'another audience'],
    ['another issuer', () => sign({ claims: { iss: 'https://login.example.com' } }), 'another issuer'],
    ['alg none', unsigned, 'not accepted'],
    ['HS256 with the public key', () => sign({ header: { alg: 'HS256' }, key: publicPem() }), 'not accepted'],
    [
      'a key of somebody else',
      () => sign({ key: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey }),
      'signature',
    ],
    ['a changed body', async () => changed(await sign()), 'signature'],
    ['no user', () => sign({ claims: { sub: undefined } }), 'names no user'],
    ['no end', async () => await withoutEnd(), 'claim exp'],
    ['half a token', async () => (await sign()).split('.').slice(0, 2).join('.') + '.', 'signature'],
    ['nonsense', async () => 'eyJ.eyJ.x', 'not a signed token'],
  ])('%s', async (_name, make, sentence) => {
    const token = await make();
    const { status, body } = await ask('/runs', token);
    expect(body).toMatchObject({ status: 401, code: 'unauthorized' });
    expect(status).toBe(401);
    expect(body['detail']).toContain(sentence);
    expect(JSON.stringify(body)).not.toContain(token.split('.')[1]);
  });

  function changed(token: string): string {
    const [header, , signature] = token.split('.');
    const claims = { iss: issuer.issuer, aud: 'pawl', sub: 'ana', pawl_app: 'desk', scope: '*', exp: 9_999_999_999 };
    return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
  }
  function withoutEnd(): Promise<string> {
    const { kid, privateKey } = issuer.signingKey();
    const claims = { iss: issuer.issuer, aud: 'pawl', sub: 'ana', pawl_app: 'shop' };
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
  }
});

test('clocks may differ by the leeway and no more', async () => {
  const now = Math.floor(Date.now() / 1_000);
  expect((await ask('/runs', await sign({ expiresInS: -20 }))).status).toBe(200);
  expect((await ask('/runs', await sign({ claims: { nbf: now + 20 } }))).status).toBe(200);
});

describe('keys of the issuer', () => {
  test('are asked for once, whatever unknown keys tokens name', async () => {
    await ask('/runs', await sign());
    const before = keyFetches();
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, number) => sign({ header: { kid: `unknown-${number}` } })),
    );
    const answers = await Promise.all(tokens.map((token) => ask('/runs', token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(answers[0]?.body['detail']).toContain('does not publish');
    expect(keyFetches() - before).toBe(0);
    const foreign = await sign({ claims: { iss: 'https://login.example.com' }, header: { kid: 'unknown' } });
    await ask('/runs', foreign);
    expect(keyFetches() - before).toBe(0);
  });

  test('change while the service runs: a new one is found, a withdrawn one is forgotten', async () => {
    const clock = { now: Date.now() };
    await http.close();
    http = await serve(createTokenVerifierOf({ now: () => clock.now }));
    const old = await sign({ expiresInS: 3_600 });
    expect((await ask('/runs', old)).status).toBe(200);
    issuer.rotateKey();
    const fresh = await sign({ expiresInS: 3_600 });
    expect((await ask('/runs', fresh)).status).toBe(401);
    clock.now += 11_000;
    const before = keyFetches();
    const answers = await Promise.all([fresh, fresh, fresh].map((token) => ask('/runs', token)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(keyFetches() - before).toBe(1);
    expect((await ask('/runs', old)).status).toBe(401);
    issuer.rotateKey();
    clock.now += 601_000;
    await ask('/runs', fresh);
    await eventually(async () => (await ask('/runs', fresh)).status === 401, {
      what: 'the withdrawn key is forgotten',
    });
  });

  test('that are known go on when the issuer is down; an unknown one gets 503 until it is back', async () => {
    const clock = { now: Date.now() };
    await http.close();
    http = await serve(createTokenVerifierOf({ now: () => clock.now }));
    const token = await sign({ expiresInS: 7_200 });
    expect((await ask('/runs', token)).status).toBe(200);
    await issuer.stop();
    try {
      clock.now += 3_600_000;
      for (let round = 0; round < 3; round += 1) expect((await ask('/runs', token)).status).toBe(200);
      issuer.rotateKey();
      const unknown = await sign({ expiresInS: 7_200 });
      const { status, body, headers } = await ask('/runs', unknown);
      expect([status, body['code'], headers['retry-after']]).toEqual([503, 'unavailable', '1']);
      expect(body['detail']).toContain('does not answer');
      await issuer.start();
      clock.now += 1_001;
      expect((await ask('/runs', unknown)).status).toBe(200);
    } finally {
      await issuer.start().catch(() => undefined);
    }
  });

  test('of an issuer that was never there: 503, and keys work', async () => {
    await http.close();
    http = await serve(tokenVerifierOf(schema.parse({ PAWL_OIDC_ISSUER: 'http://127.0.0.1:9' }), log));
    const token = await sign({ claims: { iss: 'http://127.0.0.1:9' } });
    expect((await ask('/runs', token)).status).toBe(503);
    expect((await ask('/runs', 'key-of-shop')).status).toBe(200);
  });
});

test('nothing of a token is logged', async () => {
  const token = await sign();
  const claims = token.split('.')[1] ?? '';
  for (const [path, bearer] of [
    ['/runs', token],
    ['/admin', token],
    ['/runs', `${token}x`],
  ] as const)
    await ask(path, bearer);
  expect(logged.join('')).toContain('does not answer');
  expect(logged.join('')).not.toContain(claims);
});
