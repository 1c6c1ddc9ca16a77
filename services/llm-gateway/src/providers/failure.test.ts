import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { failureOfRequest } from './failure.ts';

const messageOf = (status: number, message: string, apiKey = 'none') =>
  failureOfRequest(new OpenAI.APIError(status, { message }, undefined, new Headers()), apiKey).message;

test('a refused key is told in a sentence, without the key', () => {
  expect(messageOf(401, 'Incorrect API key provided: sk-wrong123. See the console.')).toBe(
    'the model endpoint refused the key (HTTP 401): Incorrect API key provided: *** See the console.',
  );
});

test.each([
  ['no such key 12ab34cd', 'no such ***'],
  ['api-key_of_mine is wrong', '*** is wrong'],
  ['Bearer abcdef123 is not known', '*** is not known'],
  ['key sk-proj-**** was revoked', '*** was revoked'],
  ['the key of mine', 'the key of mine'],
  ['this is the one: plainkey', 'this is the one: ***'],
])('%s: %s', (said, shown) => {
  expect(messageOf(400, said, 'plainkey')).toBe(`HTTP 400: ${shown}`);
});
