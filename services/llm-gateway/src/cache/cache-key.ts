/** Which requests may be answered from the cache, and when two are the same. Pure. */
import { sha256, type ModelRouteSpec } from '@pawl/contracts';
import type { ModelRequest } from '../call/model-request.ts';

/**
 * The key of a request, or undefined when it must not be cached: the route doesn't allow it, tools are offered, or the
 * temperature is not 0. Embeddings have no temperature. Two apps never share an answer, and neither do two users.
 */
export function cacheKeyOf(request: ModelRequest, spec: ModelRouteSpec): string | undefined {
  const isSettled = request.operation === 'embeddings' || request.options['temperature'] === 0;
  if (!spec.cache || !isSettled || request.tools.length > 0) return undefined;
  const { spender, route, model, operation, messages, options, choices, outputTokensMax } = request;
  const { app, userId } = spender;
  const sortedOptions = Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const models = spec.candidates.map((candidate) => [candidate.provider, candidate.model, candidate.baseUrl]);
  return sha256(
    JSON.stringify([app, userId, route, model, models, operation, messages, sortedOptions, choices, outputTokensMax]),
  );
}
