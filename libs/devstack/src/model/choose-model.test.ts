import { modelRouteSchema } from '@pawl/contracts';
import { expect, test } from 'vitest';
import { adviseOnEndpoint, describeEndpoint, endpointRoutes, simRoutes } from './choose-model.ts';

const local = { baseUrl: 'http://127.0.0.1:11434/v1', apiKey: 'k', model: 'llama' };
const openAi = { baseUrl: 'https://api.openai.com/v1', apiKey: 'sk-1', model: 'gpt-4.1-mini' };

test('every route is a valid object', () => {
  const routes = [...simRoutes('demo', 'http://127.0.0.1:1/v1', []), ...endpointRoutes('demo', local)];
  for (const route of routes) expect(modelRouteSchema.parse(route)).toEqual(route);
  expect(routes.map(({ metadata }) => metadata.name)).toEqual(['smart', 'fast', 'smart', 'fast']);
});

test("the stand-in's models are used by name, or its first one", () => {
  const modelsOf = (models: string[]) =>
    simRoutes('demo', 'http://127.0.0.1:1/v1', models).map(({ spec }) => spec.candidates[0]?.model);
  expect(modelsOf(['other', 'smart', 'fast'])).toEqual(['smart', 'fast']);
  expect(modelsOf(['only'])).toEqual(['only', 'only']);
});

test('a key is given by reference, never by value', () => {
  expect(JSON.stringify(endpointRoutes('demo', openAi))).not.toContain('sk-1');
});

test('only OpenAI has prices that are known; elsewhere the user is told', () => {
  expect(endpointRoutes('demo', openAi)[0]?.spec.candidates[0]?.price).toBeUndefined();
  expect(endpointRoutes('demo', local)[0]?.spec.candidates[0]?.price?.inputPerMillion).toBe('0');
  expect(describeEndpoint(local)).toContain('booked at 0 USD');
  expect(describeEndpoint(openAi)).not.toContain('booked');
});

test('advice on an endpoint that has not answered names what was set', () => {
  expect(adviseOnEndpoint(local)).toMatch(/PAWL_MODEL_BASE_URL.*PAWL_MODEL_API_KEY/);
  expect(adviseOnEndpoint(openAi)).toContain('OPENAI_API_KEY');
});
