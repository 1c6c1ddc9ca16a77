/** GET /v1/models and /v1/models/{name}: what an app may name as a model, agents included. */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import type { Authorizer, Http } from '@pawl/service';
import { agentPrefix } from './agent-model.ts';
import { listModels } from './find-model.ts';
import { OpenAiError } from './openai-errors.ts';

export function serveModels(http: Http, deps: { registry: Registry; authorizer: Authorizer }): void {
  const modelsOf = (app: string) => [
    ...listModels(deps.registry, app).map(({ id, ownedBy, createdAt }) => modelBody(id, ownedBy, createdAt)),
    ...deps.registry
      .list('Agent', app)
      .map(({ object, updatedAt }) => modelBody(`${agentPrefix}${object.metadata.name}`, 'pawl-agent', updatedAt)),
  ];
  http.get('/v1/models', async (request) => {
    const { app } = deps.authorizer.authorizeApp(request, 'chat');
    return { object: 'list', data: modelsOf(app) };
  });
  const params = z.object({ '*': z.string().min(1).max(300) });
  http.get('/v1/models/*', { schema: { params } }, async (request) => {
    const { app } = deps.authorizer.authorizeApp(request, 'chat');
    const name = request.params['*'];
    const model = modelsOf(app).find(({ id }) => id === name);
    if (model) return model;
    throw new OpenAiError({ code: 'not_found', message: `there is no model ${name}` }, 'model');
  });
}

function modelBody(id: string, ownedBy: string, updatedAt: string) {
  return { id, object: 'model', created: Math.floor(Date.parse(updatedAt) / 1_000), owned_by: ownedBy };
}
