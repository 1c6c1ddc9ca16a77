/**
 * Names the development dependencies of a workspace that the files of a folder import, in one line:
 * `list-bundled.mjs <workspace folder> <folder of sources>`. They are what a bundle of these files is made of.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [workspace, folder] = process.argv.slice(2);
const { devDependencies } = JSON.parse(readFileSync(join(workspace, 'package.json'), 'utf8'));
const sources = globSync(join(folder, '**/*.{ts,tsx}')).map((file) => readFileSync(file, 'utf8'));
const isImported = (name) => sources.some((text) => text.includes(`'${name}'`) || text.includes(`'${name}/`));
process.stdout.write(Object.keys(devDependencies).filter(isImported).join(' '));
