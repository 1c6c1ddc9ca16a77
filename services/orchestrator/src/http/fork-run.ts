/** POST /v1/runs/{id}/fork: a new run that takes over the steps before one and goes its own way from there. */
import { forkRunSchema } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import type { MakeFork } from '../intake/fork-run.ts';
import type { ReadRun } from '../partitions/read-run.ts';
import { runParams } from './read-run.ts';

export function forkRunRoute(http: Http, using: { authorizer: Authorizer; readRun: ReadRun; forkRun: MakeFork }): void {
  const onRequest = guardApp(using.authorizer, 'runs:write');
  http.post(
    '/v1/runs/:id/fork',
    { onRequest, schema: { params: runParams, body: forkRunSchema } },
    async (request, reply) => {
      const { app, keyId, user } = using.authorizer.authorizeApp(request, 'runs:write');
      await using.readRun.read(app, request.params.id);
      const view = await using.forkRun({ app, keyId, user, runId: request.params.id, body: request.body });
      return await reply.code(201).header('location', `/v1/runs/${view.id}`).send(view);
    },
  );
}
