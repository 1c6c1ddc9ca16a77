/**
 * What `dev` and `demo` share: one stack per checkout, an orderly end on Ctrl-C, failures as sentences.
 */
import { PawlError } from '@pawl/client';
import { DevstackError } from '../devstack-error.ts';
import { loadExample } from '../example/load-example.ts';
import type { Example } from '../example/load-example.ts';
import { describeEndpoint } from '../model/choose-model.ts';
import { killAllChildren } from '../process/child.ts';
import { tryLock } from '../process/process-lock.mjs';
import { readConfig, type ModelEndpoint } from '../config.ts';
import { createStack } from '../stack.ts';
import type { Stack } from '../stack.ts';
import { readDevFile, stateFolder } from '../state/state-folder.ts';
import type { StateFolder } from '../state/state-folder.ts';
import { parseCommandLine } from './command-line.ts';
import type { CommandLine } from './command-line.ts';
import { createTerminal } from './terminal.ts';
import type { Terminal } from './terminal.ts';

/** On a terminal npm passes Ctrl-C on to a process that has got it already. */
const SAME_SIGNAL_MS = 500;

export interface Development {
  stack: Stack;
  example: Example;
  /** A real one; undefined where the stand-in answers. */
  model: ModelEndpoint | undefined;
  commandLine: CommandLine;
  terminal: Terminal;
  /** Aborted when the user wants to stop. */
  interrupted: AbortSignal;
}

/** Runs `body` on a started stack and ends the process with the exit code that it gives. */
export async function develop(
  command: 'dev' | 'demo',
  body: (development: Development) => Promise<number>,
): Promise<void> {
  const terminal = createTerminal();
  try {
    const commandLine = parseCommandLine(command, process.argv.slice(2));
    process.exit(await withStack({ command, commandLine, terminal, body }));
  } catch (error) {
    terminal.progressDone();
    console.error(error instanceof DevstackError || error instanceof PawlError ? error.message : error);
    process.exit(1);
  }
}

interface WithStack {
  command: 'dev' | 'demo';
  commandLine: CommandLine;
  terminal: Terminal;
  body: (development: Development) => Promise<number>;
}

async function withStack({ command, commandLine, terminal, body }: WithStack): Promise<number> {
  const folder = stateFolder();
  const config = readConfig();
  const example = await loadExample(folder.root, commandLine.example);
  const lock = tryLock(folder.lockFile);
  if (lock.release === undefined) throw alreadyRunning(folder, lock.heldBy);

  const stack = createStack({
    folder,
    config,
    example,
    port: commandLine.port,
    command: `npm run ${command}`,
    progress: terminal.progress,
    say: terminal.print,
  });
  const interrupt = new AbortController();
  onInterrupt(interrupt, () => {
    killAllChildren();
    lock.release();
  });
  try {
    const startedAt = performance.now();
    const started = await Promise.race([stack.start(), aborted(interrupt.signal)]);
    if (started === undefined) return 130;
    terminal.progressDone();
    printWelcome(terminal, started, Math.round(performance.now() - startedAt));
    if (config.model) terminal.print(describeEndpoint(config.model));
    return await body({
      stack: started,
      example,
      model: config.model,
      commandLine,
      terminal,
      interrupted: interrupt.signal,
    });
  } finally {
    if (interrupt.signal.aborted) terminal.progress('Stopping');
    await stack.stop();
    lock.release();
    terminal.progressDone();
  }
}

/** First signal: stop in order. Second one: kill everything. The launcher gone: as the first. */
function onInterrupt(interrupt: AbortController, killAll: () => void): void {
  let firstAt: number | undefined;
  const onSignal = (): void => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      interrupt.abort();
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
      killAll();
      process.exit(130);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  process.on('disconnect', () => interrupt.abort());
  process.channel?.unref();
  // Whoever read our output is gone; there is nobody to print for.
  process.stdout.on('error', () => interrupt.abort());
}

/** Resolves when the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function alreadyRunning(folder: StateFolder, pid: number): DevstackError {
  const url = readDevFile(folder)?.url;
  const where = url ? ` Its page is ${url}.` : '';
  return new DevstackError(
    `Pawl is already running from this folder (process ${pid}).${where} Stop it first with Ctrl-C in its terminal, or: kill ${pid}`,
  );
}

/** The page takes the key from the part of the address that browsers don't send. */
export function pageUrl(stack: Stack): string {
  return `${stack.devFile.url}/#key=${stack.appKey}`;
}

function printWelcome(terminal: Terminal, stack: Stack, elapsedMs: number): void {
  const { bold, cyan, dim } = terminal.colors;
  terminal.print(
    [
      '',
      `${bold('Pawl is running')} ${dim(`(started in ${(elapsedMs / 1000).toFixed(1)} s)`)}`,
      `  page       ${cyan(pageUrl(stack))}`,
      `  API        ${stack.devFile.url}`,
      `  admin key  ${stack.devFile.adminKey}`,
      `  app key    ${stack.appKey}`,
      dim('  All of this is in .pawl/dev.json; logs are in .pawl/logs.'),
    ].join('\n'),
  );
}
