import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { factSchema } from './facts.ts';
import { factKinds } from './words.ts';

it('loads nothing else, so that a page in a browser can have it', () => {
  expect(readFileSync(new URL('words.ts', import.meta.url), 'utf8')).not.toMatch(/\bimport\b.*['"]|from '/);
});

it('names every kind of fact, and no other', () => {
  expect(factSchema.options.map(({ shape }) => shape.kind.value).toSorted()).toEqual([...factKinds].toSorted());
});
