/**
 * Who may do what with an app's traces, and the note of every read of what people said.
 *
 * Roles are scopes of keys: `traces` is the engineer (everything), `traces:explain` is who explains runs to people
 * (no thoughts, no raw errors), `traces:operate` is who runs the store (holds, erasures, settings, the list of reads).
 */
import { objectNameSchema, RejectedError, type Scope } from '@pawl/contracts';
import { hasScope, isStillIn, type Authorizer } from '@pawl/service';
import type { Reads } from './reads.ts';

type HttpRequest = Parameters<Authorizer['authorize']>[0] & { query?: unknown };

/** What a reader gets to see: everything, or no thoughts. */
export type Lens = 'whole' | 'explained';

export type ReadAction = 'list' | 'trace' | 'body' | 'compare' | 'export' | 'tail' | 'aggregate';

export type Access = {
  /**
   * The reader of a request, noted before anything is answered. Throws `RejectedError` unauthorized or forbidden, and
   * `UnavailableError` when the note can't be kept.
   */
  read(request: HttpRequest, note: { action: ReadAction; runId?: string; detail?: string }): Promise<Reader>;
  /** Who operates the store for an app; the admin key names the app as `?app=`. */
  operate(request: HttpRequest): { app: string; by: string };
  /** Hooks that refuse who may do neither, before anything that was sent is looked at. */
  readers(request: HttpRequest): Promise<void>;
  operators(request: HttpRequest): Promise<void>;
  /** Whether who was let in is still known and may still read what he reads. */
  isStillIn(request: HttpRequest, reader: Reader): boolean;
};

export type Reader = { app: string; lens: Lens };

export function createAccess({ authorizer, reads }: { authorizer: Authorizer; reads: Reads }): Access {
  return {
    async read(request, { action, runId = '', detail = '' }) {
      const scope = scopeOf(request, authorizer);
      const { app, keyId } = authorizer.authorizeApp(request, scope);
      await reads.note({ app, keyId, action, runId, detail });
      return { app, lens: scope === 'traces' ? 'whole' : 'explained' };
    },
    async readers(request) {
      authorizer.authorizeApp(request, scopeOf(request, authorizer));
    },
    async operators(request) {
      authorizer.authorize(request, 'traces:operate');
    },
    isStillIn: (request, { app, lens }) =>
      isStillIn(authorizer, request, { app, scope: lens === 'whole' ? 'traces' : 'traces:explain' }),
    operate(request) {
      const caller = authorizer.authorize(request, 'traces:operate');
      const named = objectNameSchema.optional().safeParse((request.query as { app?: unknown } | undefined)?.app);
      if (caller.kind === 'app') {
        if (named.success && (named.data ?? caller.app) === caller.app) return { app: caller.app, by: caller.keyId };
        throw new RejectedError('forbidden', `the key belongs to app ${caller.app}`);
      }
      if (named.success && named.data !== undefined) return { app: named.data, by: 'admin' };
      throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
    },
  };
}

/** The most that the key allows; of a key that allows neither, the refusal names `traces`. */
function scopeOf(request: HttpRequest, authorizer: Authorizer): Scope {
  try {
    return hasScope(authorizer.authorize(request, 'traces:explain'), 'traces') ? 'traces' : 'traces:explain';
  } catch {
    return 'traces';
  }
}
