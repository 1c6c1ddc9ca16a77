/**
 * Copies the programs and migrations of the workspaces whose manifests are here from a folder that has those of all:
 * `copy-sources.mjs <folder>`.
 */
import { cpSync, existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [from] = process.argv.slice(2);
for (const workspace of globSync('{libs,services}/*/package.json').map(dirname)) {
  for (const part of ['src', 'migrations'].map((name) => join(workspace, name))) {
    if (existsSync(join(from, part))) cpSync(join(from, part), part, { recursive: true });
  }
}
