/** GET /v1/runs/{id}: a run as it stands. `?wait=` seconds answers when it has ended or the time is over. */
import { z } from 'zod';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import type { ReadRun } from '../partitions/read-run.ts';
import { waitQuery } from './create-run.ts';

export const runParams = z.object({ id: z.string().max(200) });

export function readRunRoute(http: Http, using: { authorizer: Authorizer; readRun: ReadRun }): void {
  const onRequest = guardApp(using.authorizer, 'runs:read');
  http.get('/v1/runs/:id', { onRequest, schema: { params: runParams, querystring: waitQuery } }, async (request) => {
    const { app } = using.authorizer.authorizeApp(request, 'runs:read');
    return await using.readRun.readWhenEnded(app, request.params.id, { waitMs: (request.query.wait ?? 0) * 1_000 });
  });
}
