/**
 * What a route asks at the head of a request (`onRequest`), so that who may not do it is told so before a body is read and before
 * anything that was sent is looked at. The handler asks again, for the caller.
 */
import type { Scope } from '@pawl/contracts';
import type { Authorizer } from './authorize.ts';

type Hook = (request: Parameters<Authorizer['authorize']>[0]) => Promise<void>;

/** Lets in whose key has the scope. */
export function guard(authorizer: Authorizer, scope: Scope): Hook {
  return async (request) => void authorizer.authorize(request, scope);
}

/** Like `guard`, for what only makes sense within an app. */
export function guardApp(authorizer: Authorizer, scope: Scope): Hook {
  return async (request) => void authorizer.authorizeApp(request, scope);
}

/** Whether who was let in for an app is still known and still has the scope: for what goes on for long, such as streams. */
export function isStillIn(
  authorizer: Authorizer,
  request: Parameters<Hook>[0],
  { app, scope }: { app: string; scope: Scope },
): boolean {
  try {
    return authorizer.authorizeApp(request, scope).app === app;
  } catch {
    return false;
  }
}

/** Lets in the admin key alone. */
export function guardAdmin(authorizer: Authorizer): Hook {
  return async (request) => authorizer.authorizeAdmin(request);
}
