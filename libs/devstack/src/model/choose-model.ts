/**
 * Which model answers in development: a real endpoint when the environment names one, else the scripted stand-in. Pure.
 */
import type { ModelRoute, Price } from '@pawl/contracts';
import type { ModelEndpoint } from '../config.ts';

/** Of the secret that holds the key of a real endpoint. */
export const MODEL_KEY_SECRET = 'DEV_MODEL_KEY';

/** What the scripted stand-in pretends to cost, so that the money shows. */
const SIM_PRICES: Record<RouteName, Price> = {
  smart: { currency: 'USD', inputPerMillion: '1.00', outputPerMillion: '4.00' },
  fast: { currency: 'USD', inputPerMillion: '0.20', outputPerMillion: '0.80' },
};

const routeNames = ['smart', 'fast'] as const;
type RouteName = (typeof routeNames)[number];

/** The routes `smart` and `fast` to the stand-in: to its model whose name is, or ends with, that of the route, else to its first one. */
export function simRoutes(app: string, baseUrl: string, models: readonly string[]): ModelRoute[] {
  return routeNames.map((name) =>
    route(app, name, {
      provider: 'sim',
      model: models.find((model) => model === name || model.endsWith(`-${name}`)) ?? models[0] ?? name,
      baseUrl,
      apiKey: 'sim',
      price: SIM_PRICES[name],
    }),
  );
}

/** The routes `smart` and `fast` to a real endpoint. OpenAI's prices are known; of others nobody here knows them. */
export function endpointRoutes(app: string, endpoint: ModelEndpoint): ModelRoute[] {
  const price = endpoint.price ?? (isOpenAi(endpoint) ? undefined : FREE);
  return routeNames.map((name) =>
    route(app, name, {
      provider: isOpenAi(endpoint) ? 'openai' : new URL(endpoint.baseUrl).hostname,
      model: endpoint.model,
      baseUrl: endpoint.baseUrl,
      apiKey: `\${secret:${MODEL_KEY_SECRET}}`,
      ...(price && { price }),
    }),
  );
}

/** A sentence for the terminal: who answers, and what is booked for it. */
export function describeEndpoint(endpoint: ModelEndpoint): string {
  const who = `Model: ${endpoint.model} at ${endpoint.baseUrl}.`;
  if (isOpenAi(endpoint) || endpoint.price) return who;
  return `${who} Its price is not known, so its calls are booked at 0 USD; set PAWL_MODEL_PRICE=<input>/<output> (USD per million tokens).`;
}

/** What to look at when it has not answered. */
export function adviseOnEndpoint(endpoint: ModelEndpoint): string {
  const [where, key] = isOpenAi(endpoint)
    ? ['can this machine reach it', 'OPENAI_API_KEY']
    : ['does something listen there (PAWL_MODEL_BASE_URL)', 'PAWL_MODEL_API_KEY'];
  return [
    `The model ${endpoint.model} at ${endpoint.baseUrl} did not answer; why is said above.`,
    `Look at three things: ${where}, does it know the model (PAWL_MODEL), does it take the key (${key})?`,
    'Then start again. Without these variables the scripted stand-in answers.',
  ].join('\n');
}

const FREE: Price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '0' };

function isOpenAi(endpoint: ModelEndpoint): boolean {
  return new URL(endpoint.baseUrl).hostname === 'api.openai.com';
}

function route(app: string, name: RouteName, candidate: ModelRoute['spec']['candidates'][number]): ModelRoute {
  return {
    apiVersion: 'pawl.dev/v1',
    kind: 'ModelRoute',
    metadata: { app, name },
    spec: { candidates: [candidate] },
  };
}
