/** Which route, and of it which candidates, a model's name means to an app. Pure over the registry. */
import type { Registry } from '@pawl/bus';
import { objectNameSchema } from '@pawl/contracts';
import { OpenAiError } from './openai-errors.ts';

export type NamedModel = { route: string; model?: string };

/** A ModelRoute's name, else the model of a candidate: then only candidates with that model. Throws `OpenAiError`. */
export function findModel(registry: Registry, app: string, name: string): NamedModel {
  if (objectNameSchema.safeParse(name).success && registry.find('ModelRoute', app, name)) return { route: name };
  const routes = registry.list('ModelRoute', app).map(({ object }) => object);
  const found = routes
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .find(({ spec }) => spec.candidates.some(({ model }) => model === name));
  if (found) return { route: found.metadata.name, model: name };
  const message = `App "${app}" has no model "${name}": name a ModelRoute or a model of one.`;
  throw new OpenAiError({ code: 'unknown_route', message }, 'model');
}

/** The names that `findModel` takes: routes first, then models, each once. */
export function listModels(registry: Registry, app: string): { id: string; ownedBy: string; createdAt: string }[] {
  const routes = registry.list('ModelRoute', app);
  const named = routes.map(({ object, updatedAt }) => ({
    id: object.metadata.name,
    ownedBy: 'pawl',
    createdAt: updatedAt,
  }));
  const models = routes.flatMap(({ object, updatedAt }) =>
    object.spec.candidates.map(({ model, provider }) => ({ id: model, ownedBy: provider, createdAt: updatedAt })),
  );
  const byName = new Map<string, (typeof named)[0]>();
  for (const model of [...named, ...models]) if (!byName.has(model.id)) byName.set(model.id, model);
  return [...byName.values()];
}
