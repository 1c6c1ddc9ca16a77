/**
 * Installs what one workspace needs to run and nothing else, in a copy of the repository's manifests that it may change:
 * without the development dependencies of any workspace, without the workspaces that it doesn't use, without declarations
 * and source maps. `install-packages.mjs <workspace> [development dependency to keep]…`
 *
 * npm alone would install the development dependencies of linked workspaces, too; the lock file stays the one source of versions.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const [workspace, ...kept] = process.argv.slice(2);
const manifests = globSync(['package.json', '{libs,services,examples}/*/package.json', 'test/package.json']);

for (const file of manifests) {
  change(file, keepDependencies);
}
change('package-lock.json', ({ packages }) => {
  for (const [path, entry] of Object.entries(packages)) if (!path.includes('node_modules')) keepDependencies(entry);
});
const root = kept.length > 0 ? ['--include-workspace-root', '--include=dev'] : ['--omit=dev'];
const quiet = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
execFileSync('npm', ['ci', '--workspace', workspace, ...root, '--ignore-scripts', ...quiet], { stdio: 'inherit' });

for (const file of manifests.filter((each) => each.includes('/'))) {
  const { name } = JSON.parse(readFileSync(file, 'utf8'));
  if (!existsSync(`node_modules/${name}`)) rmSync(file.replace(/\/package\.json$/, ''), { recursive: true });
}
for (const file of globSync('{,*/*/}node_modules/**/*.{map,d.ts,d.mts,d.cts}')) rmSync(file, { recursive: true });

function keepDependencies(manifest) {
  const named = Object.entries(manifest.devDependencies ?? {}).filter(([name]) => kept.includes(name));
  if (named.length > 0) manifest.devDependencies = Object.fromEntries(named);
  else delete manifest.devDependencies;
}

function change(file, edit) {
  const content = JSON.parse(readFileSync(file, 'utf8'));
  edit(content);
  writeFileSync(file, JSON.stringify(content));
}
