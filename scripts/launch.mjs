/**
 * Installs what is missing and runs a verb under the Node of node_modules, passing on signals and the exit code.
 * Plain JavaScript for Node 20; the verbs themselves are TypeScript.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPage } from '../services/trace-store/web/build.mjs';
import { installPackages } from './install.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BIN = join(ROOT, 'node_modules/.bin');

const VERBS = {
  demo: ['libs/devstack/src/commands/demo.ts'],
  dev: ['libs/devstack/src/commands/dev.ts'],
  test: ['scripts/test.ts'],
  'test:full': ['scripts/test.ts', '--full'],
  verify: ['scripts/verify.ts'],
  lint: ['scripts/verify.ts', '--only', 'lint,boundaries,unused'],
  types: ['scripts/verify.ts', '--only', 'types,page types'],
  format: ['scripts/verify.ts', '--write-format'],
  generate: ['scripts/generate.ts'],
  bench: ['scripts/bench.ts'],
  build: ['services/trace-store/web/build.mjs'],
};

/** These serve or test the page, so they build it first where it is missing or stale. */
const NEED_PAGE = new Set(['demo', 'dev', 'test', 'test:full', 'verify']);

export async function launch(verb, args) {
  const script = VERBS[verb];
  if (script === undefined) {
    console.error(`Usage: npm run <${Object.keys(VERBS).join(' | ')}>`);
    process.exitCode = 1;
    return;
  }
  if (!(await installPackages(ROOT)) || (NEED_PAGE.has(verb) && !(await buildPage()))) {
    process.exitCode = 1;
    return;
  }
  const [file, ...fixed] = script;
  const child = spawn(join(BIN, 'node'), [join(ROOT, file), ...fixed, ...args], {
    cwd: ROOT,
    // The channel tells the child when this process is gone, however it went.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: BIN + delimiter + process.env.PATH, ...plainWhenPiped() },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const watch = endWithParent(child);
  child.on('error', (error) => {
    console.error(`Node in node_modules could not be started: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    clearInterval(watch);
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}

/** Some tools colour their output wherever a variable named CI is set. */
function plainWhenPiped() {
  return process.stdout.isTTY || process.env.FORCE_COLOR ? {} : { NO_COLOR: '1' };
}

/** When npm started us and is gone, nobody is there any more to stop us. Between npm and us there may be a shell. */
function endWithParent(child) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const ancestors = () => `${process.ppid} ${parentOf(process.ppid)}`;
  const known = ancestors();
  const timer = setInterval(() => ancestors() !== known && child.kill('SIGTERM'), 1_000);
  timer.unref();
  return timer;
}

/** On Linux, whose shell stays between npm and us; macOS's shell becomes us. */
function parentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[1];
  } catch {
    return '';
  }
}
