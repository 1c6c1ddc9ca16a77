import { STATUS_CODES } from 'node:http';
import { describe, expect, test } from 'vitest';
import { errorCatalogue, problem, problemSchema, RejectedError, UnavailableError, type ErrorCode } from './errors.ts';

const codes = Object.keys(errorCatalogue) as ErrorCode[];

describe.each(codes)('%s', (code) => {
  test('has a real status and a title that is a sentence', () => {
    const { status, title } = errorCatalogue[code];
    expect(STATUS_CODES).toHaveProperty([status]);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(title).toMatch(/^[A-Z][^.]*[^.\s]$/);
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  test('has a problem document that its schema takes', () => {
    const document = problem(code, 'Details.');
    expect(problemSchema.parse(document)).toEqual(document);
  });
});

test('a problem document has the members of RFC 9457 and the code', () => {
  expect(problem('unknown_agent', 'This app has no agent "x".')).toEqual({
    type: 'https://pawl.dev/problems/unknown_agent',
    title: 'There is no such agent',
    status: 404,
    detail: 'This app has no agent "x".',
    code: 'unknown_agent',
  });
});

test('titles are told apart', () => {
  expect(new Set(codes.map((code) => errorCatalogue[code].title)).size).toBe(codes.length);
});

test('an error tells who must act', () => {
  const rejected = new RejectedError('unknown_tool', 'There is no tool "x".');
  expect(rejected).toMatchObject({ name: 'RejectedError', code: 'unknown_tool', message: 'There is no tool "x".' });
  const cause = new Error('ECONNREFUSED');
  const unavailable = new UnavailableError('Postgres does not answer.', cause);
  expect(unavailable).toMatchObject({ name: 'UnavailableError', code: 'unavailable', cause });
  expect(new UnavailableError('x')).not.toHaveProperty('cause');
});
