import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

test('without variables nothing is replaced', () => {
  expect(readConfig({})).toEqual({ path: '', environment: {} });
});

test('an OpenAI key alone means OpenAI', () => {
  expect(readConfig({ OPENAI_API_KEY: 'sk-1' }).model).toEqual({
    baseUrl: 'https://api.openai.com/v1',
    apiKey: 'sk-1',
    model: 'gpt-4.1-mini',
  });
});

test('an endpoint of its own goes before the OpenAI key', () => {
  const environment = {
    OPENAI_API_KEY: 'sk-1',
    PAWL_MODEL_BASE_URL: 'http://127.0.0.1:11434/v1',
    PAWL_MODEL: 'llama',
    PAWL_MODEL_PRICE: '0.40/1.60',
  };
  expect(readConfig(environment).model).toEqual({
    baseUrl: 'http://127.0.0.1:11434/v1',
    apiKey: 'none',
    model: 'llama',
    price: { currency: 'USD', inputPerMillion: '0.40', outputPerMillion: '1.60' },
  });
});

test.each([
  [{ PAWL_MODEL_BASE_URL: 'http://127.0.0.1/v1' }, 'PAWL_MODEL has to name the model'],
  [{ PAWL_MODEL_BASE_URL: 'nonsense', PAWL_MODEL: 'm' }, 'has to begin with http:// or https://'],
  [{ PAWL_MODEL_BASE_URL: 'localhost:11434/v1', PAWL_MODEL: 'm' }, 'not: localhost:11434/v1'],
  [{ PAWL_MODEL: 'm' }, 'need PAWL_MODEL_BASE_URL beside them'],
  [{ OPENAI_API_KEY: 'k', PAWL_MODEL_PRICE: 'cheap' }, 'PAWL_MODEL_PRICE has to look like 0.40/1.60'],
])('%j is refused', (environment, message) => expect(() => readConfig(environment)).toThrow(message));
