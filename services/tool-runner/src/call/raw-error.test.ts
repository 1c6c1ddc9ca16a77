import { describe, expect, test } from 'vitest';
import { rawErrorCharsMax, storableError } from './raw-error.ts';

describe('raw errors', () => {
  test.each([
    ['token was s3cr3t-value here', ['s3cr3t-value'], 'token was [removed] here'],
    ['Authorization: Basic dXNlcjpwYXNz\nnext', [], 'Authorization: [removed]\nnext'],
    ['{"api_key":"sk-test-123"}', [], '{"api_key":"[removed]"}'],
    ['GET /x?token=abc123&y=1', [], 'GET /x?token=[removed]&y=1'],
    ['connect postgres://app:pw@db:5432/x', [], 'connect postgres://app:[removed]@db:5432/x'],
    ['sent Bearer abcdefghijkl to it', [], 'sent Bearer [removed] to it'],
  ])('%s', (text, secrets, expected) => {
    expect(storableError(text, secrets)).toBe(expected);
  });

  test('it is cut', () => {
    expect(storableError('x'.repeat(100_000), []).length).toBe(rawErrorCharsMax);
  });
});
