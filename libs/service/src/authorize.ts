/** Who is asking, and may they. An unknown key and a missing one get the same answer. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Keys } from '@pawl/bus';
import { RejectedError, type Scope } from '@pawl/contracts';

/** An app's key, or the admin key, which belongs to no app. */
export type Caller = { kind: 'app'; app: string; keyId: string; scopes: Scope[] } | { kind: 'admin' };

export type Authorizer = {
  /** The caller of a request whose key has the scope. Throws `RejectedError` unauthorized or forbidden. */
  authorize(request: FastifyRequest, scope: Scope): Caller;
  /** Like `authorize`, for what only makes sense within an app. */
  authorizeApp(request: FastifyRequest, scope: Scope): Caller & { kind: 'app' };
  /** Only the admin key. */
  authorizeAdmin(request: FastifyRequest): void;
};

/** Whether a caller's key has a scope. */
export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.kind === 'admin' || caller.scopes.includes('*') || caller.scopes.includes(scope);
}

/** Judges requests by the keys that are known at that moment. Without an `adminKey` nobody is admin. */
export function createAuthorizer(options: { keys: Keys; adminKey: string | undefined }): Authorizer {
  const identify = (request: FastifyRequest): Caller => {
    const key = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1];
    if (!key) throw new RejectedError('unauthorized', 'send a key as Authorization: Bearer <key>');
    if (options.adminKey && isEqual(key, options.adminKey)) return { kind: 'admin' };
    const record = options.keys.find(key);
    if (!record) throw new RejectedError('unauthorized', 'the key is unknown or has expired');
    return { kind: 'app', app: record.app, keyId: record.id, scopes: record.scopes };
  };
  const authorize = (request: FastifyRequest, scope: Scope): Caller => {
    const caller = identify(request);
    if (!hasScope(caller, scope)) throw new RejectedError('forbidden', `the key lacks the scope ${scope}`);
    return caller;
  };
  return {
    authorize,
    authorizeApp(request, scope) {
      const caller = authorize(request, scope);
      if (caller.kind === 'app') return caller;
      throw new RejectedError('forbidden', 'this belongs to an app: use a key of that app, not the admin key');
    },
    authorizeAdmin(request) {
      if (identify(request).kind !== 'admin') throw new RejectedError('forbidden', 'this needs the admin key');
    },
  };
}

function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
