/**
 * Who is asking, and may they. An unknown key and a missing one get the same answer.
 *
 * 1. Nobody unknown reaches a path below /v1: that is told before a body is read or anything that was sent is looked at.
 *    What a key may not do is told then, too, where a route asks in its `onRequest`.
 * 2. Each time it is asked, the answer is that of the moment: a key that was revoked, or a token that has expired since, is
 *    refused, so that what goes on for long may ask again.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Keys } from '@pawl/bus';
import { RejectedError, type RunUser, type Scope } from '@pawl/contracts';
import type { Http } from './http.ts';
import { isToken, type TokenVerifier, type VerifiedBearer } from './oidc/token-verifier.ts';

/** Who asks for an app, with its key or with a token that names it; or the admin key, which belongs to no app. */
export type Caller =
  | {
      kind: 'app';
      app: string;
      /** How notes name the caller: the key's id, or `user:` and the id of a token's user. */
      keyId: string;
      scopes: Scope[];
      /** The user of a token. */
      user?: Required<RunUser>;
    }
  | { kind: 'admin' };

/** What a caller is known by. */
type Asking = { headers: IncomingHttpHeaders };

export type Authorizer = {
  /** The caller of a request whose key has the scope. Throws `RejectedError` unauthorized or forbidden. */
  authorize(request: Asking, scope: Scope): Caller;
  /** Like `authorize`, for what only makes sense within an app. */
  authorizeApp(request: Asking, scope: Scope): Caller & { kind: 'app' };
  /** Only the admin key. */
  authorizeAdmin(request: Asking): void;
  /**
   * Verifies the token that a request brings, so that the methods above can judge it; a token that is wrong is refused by
   * them. Requests of the HTTP server have been through this before any route sees them.
   */
  identify(request: Asking): Promise<void>;
};

export type AuthorizerOptions = {
  http: Http;
  keys: Keys;
  /** Without one nobody is admin. */
  adminKey: string | undefined;
  /** Without one no tokens are taken. */
  tokens: TokenVerifier | undefined;
};

/** Whether a caller's key has a scope. */
export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.kind === 'admin' || caller.scopes.includes('*') || caller.scopes.includes(scope);
}

/** For whom a caller acts who names a user, or none. Throws `RejectedError` forbidden where that is not theirs to name. */
export function actingUser(caller: Caller & { kind: 'app' }, named: RunUser | undefined): RunUser | undefined {
  const isSelf = named === undefined || (named.id === caller.user?.id && named.roles === undefined);
  if (isSelf) return caller.user;
  if (hasScope(caller, 'runs:act-as')) return named;
  throw new RejectedError('forbidden', 'naming a user needs the scope runs:act-as');
}

/** Judges requests by the keys that are known at that moment, and by tokens. */
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const { keys, adminKey, tokens } = options;
  const bearers = new WeakMap<Asking, VerifiedBearer | Error>();

  const identify = async (request: Asking): Promise<void> => {
    const token = credentialOf(request);
    if (!tokens || token === undefined || !isToken(token)) return;
    try {
      bearers.set(request, await tokens.verify(token));
    } catch (error) {
      bearers.set(request, error as Error);
    }
  };

  const callerOf = (request: Asking): Caller => {
    const key = credentialOf(request);
    if (key === undefined) throw new RejectedError('unauthorized', 'send a key as Authorization: Bearer <key>');
    if (adminKey && isEqual(key, adminKey)) return { kind: 'admin' };
    const bearer = bearers.get(request);
    if (bearer) return callerOfToken(request, bearer, keys);
    const record = keys.find(key);
    if (!record) throw new RejectedError('unauthorized', 'the key is unknown or has expired');
    return { kind: 'app', app: record.app, keyId: record.id, scopes: record.scopes };
  };
  options.http.addHook('onRequest', async (request) => {
    await identify(request);
    if (request.routeOptions.url?.startsWith('/v1/')) callerOf(request);
  });

  const authorize = (request: Asking, scope: Scope): Caller => {
    const caller = callerOf(request);
    if (hasScope(caller, scope)) return caller;
    const what = caller.kind === 'app' && caller.user ? 'token' : 'key';
    throw new RejectedError('forbidden', `the ${what} lacks the scope ${scope}`);
  };
  return {
    authorize,
    authorizeApp(request, scope) {
      const caller = authorize(request, scope);
      if (caller.kind === 'app') return caller;
      throw new RejectedError('forbidden', 'this belongs to an app: use a key of that app, not the admin key');
    },
    authorizeAdmin(request) {
      if (callerOf(request).kind !== 'admin') throw new RejectedError('forbidden', 'this needs the admin key');
    },
    identify,
  };
}

function credentialOf({ headers }: Asking): string | undefined {
  return /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1];
}

/** A token may be of several apps: then each request says for which. An app that has no key yet is none. */
function callerOfToken({ headers }: Asking, bearer: VerifiedBearer | Error, keys: Keys): Caller {
  if (bearer instanceof Error) throw bearer;
  if (bearer.expiresAtMs <= Date.now()) throw new RejectedError('unauthorized', 'the token has expired');
  const { apps, user, scopes } = bearer;
  const asked = headers['x-pawl-app'];
  const [only, ...others] = apps;
  if (asked === undefined && others.length > 0) {
    const detail = `the token is of several apps: name one of ${apps.join(', ')} as x-pawl-app`;
    throw new RejectedError('forbidden', detail, { apps: apps.filter((app) => keys.apps().includes(app)) });
  }
  const app = asked ?? only;
  if (typeof app !== 'string' || !apps.includes(app)) {
    throw new RejectedError('forbidden', 'the token is not of the app that x-pawl-app names');
  }
  if (!keys.apps().includes(app)) {
    throw new RejectedError('forbidden', `there is no app ${app}: an app exists as soon as it has a key`);
  }
  return { kind: 'app', app, keyId: `user:${user.id}`, scopes, user };
}

function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
