/** Writes what is generated of the chart. Part of `npm run generate`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { chartFiles } from './chart-files.ts';

for (const [path, text] of chartFiles()) {
  const file = new URL(`../${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}
