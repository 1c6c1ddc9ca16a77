import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createExactNumbers } from './exact-numbers.ts';

const { mark, print } = createExactNumbers();

describe('exact numbers', () => {
  test.each([
    '{"id":9007199254740993,"a":[2512292042121000001,-1.2345678901234567e10]}',
    '{"text":"9007199254740993 \\" 2512292042121000001","n":1}',
    '12345678901234567890',
  ])('C5: %s comes through digit for digit', (json) => expect(print(JSON.parse(mark(json)))).toBe(json));

  test('any JSON comes through unchanged', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const compact = JSON.stringify(JSON.parse(json));
        expect(print(JSON.parse(mark(compact)))).toBe(compact);
      }),
    );
  });

  test('text that looks like a mark is not taken for a number', () => {
    const json = '{"a":"#00000000-0000-0000-0000-000000000000:12345678901234567"}';
    expect(print(JSON.parse(mark(json)))).toBe(json);
  });
});
