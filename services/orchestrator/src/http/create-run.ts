/** POST /v1/runs: starts a run. `?wait=` seconds answers when it has ended or the time is over. */
import { z } from 'zod';
import { createRunSchema } from '@pawl/contracts';
import { actingUser, guardApp, type Authorizer, type Http } from '@pawl/service';
import { parseTraceparent } from '@pawl/telemetry';
import type { StartRun } from '../intake/start-run.ts';
import type { ReadRun } from '../partitions/read-run.ts';

export const waitQuery = z.strictObject({ wait: z.coerce.number().min(0).max(60).optional() });
const headersSchema = z.looseObject({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
    .optional(),
  traceparent: z.string().optional(),
});

export function createRunRoute(
  http: Http,
  using: { authorizer: Authorizer; startRun: StartRun; readRun: ReadRun },
): void {
  const schema = { body: createRunSchema, querystring: waitQuery, headers: headersSchema };
  const onRequest = guardApp(using.authorizer, 'runs:write');
  http.post('/v1/runs', { onRequest, schema }, async (request, reply) => {
    const caller = using.authorizer.authorizeApp(request, 'runs:write');
    const { body, headers } = request;
    const user = actingUser(caller, body.user);
    const started = await using.startRun({
      app: caller.app,
      keyId: caller.keyId,
      body: { ...body, ...(user ? { user } : {}) },
      idempotencyKey: headers['idempotency-key'],
      trace: parseTraceparent(headers.traceparent),
    });
    const waitMs = (request.query.wait ?? 0) * 1_000;
    const { id } = started.view;
    const known = started.isNew ? started.view : undefined;
    const view = await using.readRun.readWhenEnded(caller.app, id, { waitMs, known });
    return await reply
      .code(started.isNew ? 201 : 200)
      .header('location', `/v1/runs/${id}`)
      .send(view);
  });
}
