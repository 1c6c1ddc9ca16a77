import fc from 'fast-check';
import { expect, test } from 'vitest';
import { objectNameSchema, toolNameSchema } from '@pawl/contracts';
import { toolNameOf } from './tool-names.ts';

test('C16: names are safe, stable and distinct', () => {
  const long = 'x'.repeat(64);
  const pairs = [
    ['files', 'search-a'],
    ['files', 'search_a'],
    ['files', 'search a'],
    ['files', 'search.a'],
    ['other', 'search-a'],
    ['a_b', 'c'],
    ['a', 'b_c'],
    ['files', `${long}1`],
    ['files', `${long}2`],
    ['files', '読む'],
  ] as const;
  const names = pairs.map(([server, tool]) => toolNameOf(server, tool));
  expect(new Set(names).size).toBe(pairs.length);
  expect(names.every((name) => toolNameSchema.safeParse(name).success)).toBe(true);
  expect(pairs.map(([server, tool]) => toolNameOf(server, tool))).toEqual(names);
  expect(names[0]).toBe('files_search-a');
});

test('C16: any two tools have two names', () => {
  const server = fc
    .stringMatching(/^[a-z0-9][a-z0-9_-]{0,5}$/)
    .filter((text) => objectNameSchema.safeParse(text).success);
  const pair = fc.tuple(server, fc.string({ minLength: 1, maxLength: 6 }));
  fc.assert(
    fc.property(pair, pair, (a, b) => {
      if (a[0] === b[0] && a[1] === b[1]) return;
      expect(toolNameOf(...a)).not.toBe(toolNameOf(...b));
    }),
  );
});
