import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigError, readConfig } from '../config.ts';
import { oidcConfigShape } from './oidc-config.ts';
import { bearerOf, type Claims, type ClaimMapping } from './token-claims.ts';

const schema = z.object(oidcConfigShape);

function mappingOf(environment: Record<string, string> = {}): ClaimMapping {
  const config = readConfig(schema, environment);
  return {
    app: config.PAWL_OIDC_APP_CLAIM,
    appDefault: config.PAWL_OIDC_APP,
    user: config.PAWL_OIDC_USER_CLAIM,
    scopes: config.PAWL_OIDC_SCOPE_CLAIMS,
    roles: config.PAWL_OIDC_ROLE_CLAIMS,
    scopesOfRole: config.PAWL_OIDC_ROLE_SCOPES,
  };
}

describe('tokens of common providers', () => {
  test.each<[string, { environment: Record<string, string>; claims: Claims; bearer: object }]>([
    [
      'Keycloak: roles of the realm, scopes as words',
      {
        environment: {},
        claims: {
          sub: 'f:1:ana',
          pawl_app: 'shop',
          scope: 'openid profile runs:read',
          realm_access: { roles: ['offline_access', 'pawl-operator'] },
        },
        bearer: {
          apps: ['shop'],
          user: { id: 'f:1:ana', roles: ['offline_access', 'pawl-operator'] },
          scopes: ['runs:read', 'runs:write', 'traces', 'budgets'],
        },
      },
    ],
    [
      'Auth0: claims with addresses as names, permissions as a list',
      {
        environment: {
          PAWL_OIDC_APP_CLAIM: 'https://pawl.example.com/app',
          PAWL_OIDC_ROLE_CLAIMS: 'https://pawl.example.com/roles',
        },
        claims: {
          sub: 'auth0|7',
          'https://pawl.example.com/app': ['shop', 'desk'],
          'https://pawl.example.com/roles': ['Sales Team'],
          scope: 'openid',
          permissions: ['chat', 'runs:act-as', 'read:messages'],
        },
        bearer: {
          apps: ['shop', 'desk'],
          user: { id: 'auth0|7', roles: ['Sales Team'] },
          scopes: ['chat', 'runs:act-as'],
        },
      },
    ],
    [
      'Entra: object id as the user, app roles, one app for all tokens',
      {
        environment: { PAWL_OIDC_USER_CLAIM: 'oid', PAWL_OIDC_APP: 'shop' },
        claims: { sub: 'pairwise', oid: '00000000-1111', scp: 'runs:read traces', roles: ['pawl-explainer'] },
        bearer: {
          apps: ['shop'],
          user: { id: '00000000-1111', roles: ['pawl-explainer'] },
          scopes: ['runs:read', 'traces', 'traces:explain'],
        },
      },
    ],
  ])('%s', (_name, { environment, claims, bearer }) => {
    expect(bearerOf(claims, mappingOf(environment))).toEqual(bearer);
  });
});

test.each<[string, Claims, string]>([
  ['no user', { pawl_app: 'shop' }, 'names no user'],
  ['a user that is no text', { sub: 7, pawl_app: 'shop' }, 'names no user'],
  ['no app', { sub: 'ana' }, 'names no app'],
  ['an app that can not be one', { sub: 'ana', pawl_app: ['shop', '../desk'] }, 'names no app'],
  ['the app in which orgs declare their budgets', { sub: 'ana', pawl_app: 'org' }, 'names no app'],
  ['a claim that only prototypes have', { sub: 'ana', constructor: undefined }, 'names no app'],
])('%s is refused', (_name, claims, sentence) => {
  expect(() => bearerOf(claims, mappingOf())).toThrow(sentence);
});

test('roles that are too many or too long are left out, and no claim is read from a prototype', () => {
  const roles = [...Array.from({ length: 200 }, (_, at) => `role-${at}`), 'x'.repeat(101)];
  expect(bearerOf({ sub: 'ana', pawl_app: 'shop', roles }, mappingOf()).user.roles).toHaveLength(100);
  const named = mappingOf({ PAWL_OIDC_USER_CLAIM: 'constructor.name' });
  expect(() => bearerOf({ pawl_app: 'shop' }, named)).toThrow('names no user');
});

test.each([
  ['PAWL_OIDC_ISSUER', 'http://login.example.com'],
  ['PAWL_OIDC_ISSUER', 'not a url'],
  ['PAWL_OIDC_ALGORITHMS', 'RS256,HS256'],
  ['PAWL_OIDC_ALGORITHMS', 'none'],
  ['PAWL_OIDC_AUDIENCE', ','],
  ['PAWL_OIDC_ROLE_SCOPES', 'pawl-viewer=everything'],
  ['PAWL_OIDC_ROLE_SCOPES', '=traces'],
  ['PAWL_OIDC_CLOCK_LEEWAY_S', '-1'],
])('%s=%s is refused at start', (name, value) => {
  expect(() => readConfig(schema, { [name]: value })).toThrow(ConfigError);
});

test.each(['https://login.example.com/realms/pawl', 'https://pawl.eu.auth0.com/', 'http://127.0.0.1:8080', ''])(
  'the issuer %s is taken as it stands',
  (issuer) => {
    expect(readConfig(schema, { PAWL_OIDC_ISSUER: issuer }).PAWL_OIDC_ISSUER).toBe(issuer || undefined);
  },
);
