/** POST /v1/keys, POST /v1/keys/{id}/rotate and DELETE /v1/keys/{id}: keys of apps, with the admin key only. A key is shown once. */
import { z } from 'zod';
import { createKeySchema, durationMs, durationSchema, orgApp, RejectedError, type Scope } from '@pawl/contracts';
import { guardAdmin, type Authorizer, type Http } from '@pawl/service';
import type { KeyStore } from '../keys/key-store.ts';

const scopesDefault: Scope[] = ['*'];

export function serveKeys(http: Http, deps: { authorizer: Authorizer; keyStore: KeyStore }): void {
  const onRequest = guardAdmin(deps.authorizer);
  http.post('/v1/keys', { onRequest, schema: { body: createKeySchema } }, async (request, reply) => {
    deps.authorizer.authorizeAdmin(request);
    const { app, scopes = scopesDefault, expiresAt = null } = request.body;
    if (app === orgApp) {
      throw new RejectedError('invalid_request', `app: ${orgApp} stands for what belongs to no single app`);
    }
    if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) {
      throw new RejectedError('invalid_request', 'expiresAt: must be in the future');
    }
    const { key, record } = await deps.keyStore.create({ app, scopes, expiresAt });
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ key, ...record });
  });

  const params = z.object({ id: z.string().min(1).max(100) });
  const rotation = z.strictObject({
    /** How long the old key works beside the new one. */
    overlap: durationSchema.default('24h'),
  });
  http.post('/v1/keys/:id/rotate', { onRequest, schema: { params, body: rotation } }, async (request, reply) => {
    deps.authorizer.authorizeAdmin(request);
    const made = await deps.keyStore.rotate(request.params.id, durationMs(request.body.overlap));
    if (!made) throw new RejectedError('not_found', 'there is no live key with this id');
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ key: made.key, ...made.record });
  });
  http.delete('/v1/keys/:id', { onRequest, schema: { params } }, async (request, reply) => {
    deps.authorizer.authorizeAdmin(request);
    const wasLive = await deps.keyStore.revoke(request.params.id);
    if (!wasLive) throw new RejectedError('not_found', 'there is no live key with this id');
    return reply.code(204).send();
  });
}
