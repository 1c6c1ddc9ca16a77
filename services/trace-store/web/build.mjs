/**
 * Builds the page into web/dist, unless what is there was built from the same sources. `npm run build` does it by hand; the
 * commands that serve or test the page do it by themselves. Plain JavaScript for Node 20: it runs before anything else.
 *
 * 1. dist is either whole or not there: it is built elsewhere and moved. Two builds at once do no harm.
 * 2. Nothing but the content of the sources decides whether dist is stale.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('.', import.meta.url));
const root = join(web, '../../..');
const dist = join(web, 'dist');
const stampName = 'built-from.txt';
/** The one file of a library that the page takes in. */
const wordsOfContracts = '../../../libs/contracts/src/words.ts';

/** True when dist is fresh, after a build if need be. Says why not with `say`. */
export async function buildPage(say = (sentence) => console.error(sentence)) {
  const stamp = stampOfSources();
  if (readText(join(dist, stampName)) === stamp) return true;
  const startedAt = performance.now();
  const fresh = join(root, 'node_modules/.cache', `pawl-page-${process.pid}`);
  const { code, output } = await runVite(fresh);
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    say(`${output.trim()}\nBuilding the page failed (vite build, exit code ${code}).`);
    return false;
  }
  writeFileSync(join(fresh, stampName), stamp);
  putInPlace(fresh);
  say(`Built the page in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
  return true;
}

function stampOfSources() {
  const hash = createHash('sha256');
  const files = [
    'index.html',
    'vite.config.ts',
    'tsconfig.json',
    '../package.json',
    '../../../package.json',
    wordsOfContracts,
  ];
  for (const folder of ['src', 'public']) {
    for (const entry of readdirSync(join(web, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.test.ts')) continue;
      files.push(relative(web, join(entry.parentPath ?? entry.path, entry.name)));
    }
  }
  for (const file of files.toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(web, file)))
      .update('\0');
  return hash.digest('hex');
}

function runVite(outDir) {
  const bin = join(root, 'node_modules/.bin');
  const args = [join(root, 'node_modules/vite/bin/vite.js'), 'build', web, '--outDir', outDir, '--emptyOutDir'];
  const vite = spawn(join(bin, 'node'), [...args, '--logLevel', 'warn'], { cwd: root, stdio: 'pipe' });
  let output = '';
  for (const stream of [vite.stdout, vite.stderr]) stream.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => {
    vite.on('error', (error) => resolve({ code: 1, output: error.message }));
    vite.on('close', (code) => resolve({ code, output }));
  });
}

/** Another build may move its own at the same moment: whoever comes second takes the first one's away and tries again. */
function putInPlace(fresh) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const old = `${fresh}-old-${attempt}`;
    mkdirSync(join(fresh, '..'), { recursive: true });
    if (existsSync(dist)) tryRename(dist, old);
    const isDone = tryRename(fresh, dist);
    rmSync(old, { recursive: true, force: true });
    if (isDone) return;
  }
  throw new Error(`${dist} could not be replaced`);
}

function tryRename(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code)) return false;
    throw error;
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !(await buildPage())) process.exitCode = 1;
