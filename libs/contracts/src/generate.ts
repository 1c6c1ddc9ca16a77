/** Writes the JSON Schemas into `schemas/` and removes those that no contract has any more. Part of `npm run generate`. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { jsonSchemas } from './json-schemas.ts';

const folder = new URL('../schemas/', import.meta.url);
const schemas = jsonSchemas();

mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) {
  if (!schemas.has(name)) rmSync(new URL(name, folder));
}
for (const [name, text] of schemas) writeFileSync(new URL(name, folder), text);
