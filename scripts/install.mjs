/**
 * Installs the npm packages of the lock file when node_modules does not hold them. Plain JavaScript for Node 20 without
 * dependencies. It must never touch node_modules that already match, and never run twice at once.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../libs/devstack/src/process/process-lock.mjs';

const NODE_MAJOR = 24;

/** True when node_modules is as the lock file says, after an installation if need be. Prints why not. */
export async function installPackages(root) {
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stampFile = join(root, 'node_modules/.pawl-lock');
  if (readText(stampFile) === wanted) return true;

  const lock = await waitForLock(join(root, '.pawl/install.lock'));
  try {
    // Another command may have installed meanwhile, or somebody by hand.
    if (readText(stampFile) === wanted) return true;
    if (!matchesLockFile(root) && !(await runNpm(root))) return false;
    if (!hasNode(root)) return false;
    writeFileSync(stampFile, wanted);
    return true;
  } finally {
    lock.release();
  }
}

async function waitForLock(path) {
  let hasSaid = false;
  for (;;) {
    const lock = tryLock(path);
    if (lock.release) return lock;
    if (!hasSaid)
      console.error(`Waiting for another command (process ${lock.heldBy}) to finish installing npm packages …`);
    hasSaid = true;
    await sleep(500);
  }
}

/** npm keeps what it has installed in node_modules/.package-lock.json; packages for other platforms are missing there. */
function matchesLockFile(root) {
  const installed = readPackages(join(root, 'node_modules/.package-lock.json'));
  const wanted = readPackages(join(root, 'package-lock.json'));
  if (installed === undefined || wanted === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    return found === undefined ? entry.optional === true || entry.extraneous === true : found.version === entry.version;
  });
}

async function runNpm(root) {
  const stop = showProgress('Installing npm packages');
  const args = ['ci', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  const npmScript = process.env.npm_execpath;
  const [command, first] = npmScript ? [process.execPath, [npmScript]] : ['npm', []];
  const npm = spawn(command, [...first, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const forward = (signal) => npm.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, forward);
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve) => {
    npm.on('error', (error) => {
      output += error.message;
      resolve(1);
    });
    npm.on('close', resolve);
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, forward);
  stop(code === 0);
  if (code !== 0) console.error(`${output.trim()}\nInstalling the npm packages failed (npm ci, exit code ${code}).`);
  return code === 0;
}

/** One line: on a terminal with a clock, otherwise one sentence at the start and one at the end. */
function showProgress(what) {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1000);
  const isTerminal = process.stderr.isTTY;
  process.stderr.write(isTerminal ? `${what} …` : `${what} (about a minute the first time) …\n`);
  const timer = isTerminal ? setInterval(() => process.stderr.write(`\r${what} … ${seconds()} s`), 1_000) : undefined;
  return (isDone) => {
    clearInterval(timer);
    process.stderr.write(`${isTerminal ? '\r' : ''}${what}: ${isDone ? 'done' : 'failed'} after ${seconds()} s.\n`);
  };
}

/** The package `node` fetches its program in an install script, which npm can be told not to run. */
function hasNode(root) {
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/node'), ['--version'], { encoding: 'utf8' });
  if (stdout?.startsWith(`v${NODE_MAJOR}.`)) return true;
  console.error(
    `The npm package "node" did not bring Node.js ${NODE_MAJOR}. If your npm is set to ignore-scripts, run once: ` +
      'npm rebuild --ignore-scripts=false node',
  );
  return false;
}

function readPackages(file) {
  const text = readText(file);
  return text === undefined ? undefined : JSON.parse(text).packages;
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
