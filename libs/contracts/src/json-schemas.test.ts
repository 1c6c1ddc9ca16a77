/** The committed JSON Schemas are those of the contracts. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jsonSchemas } from './json-schemas.ts';

const folder = new URL('../schemas/', import.meta.url);

test('libs/contracts/schemas is up to date', () => {
  const committed = new Map(
    readdirSync(folder).map((file) => [file, readFileSync(new URL(file, folder), 'utf8')] as const),
  );
  const wanted = jsonSchemas();
  const stale = [...new Set([...committed.keys(), ...wanted.keys()])].filter(
    (file) => committed.get(file) !== wanted.get(file),
  );
  expect(stale, 'differs from the contracts: run npm run generate').toEqual([]);
});

test('each schema says its dialect and the address under which it can be referred to', () => {
  for (const [file, text] of jsonSchemas()) {
    expect(JSON.parse(text)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `https://pawl.dev/schemas/${file}`,
    });
  }
});
