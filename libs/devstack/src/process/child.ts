/**
 * One child process with a log file: started in its own process group, guarded against the death of its parent, and
 * stopped in two stages. It must not decide when to restart (see keep-running.ts).
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { guardChild, releaseChild } from './guard.ts';

export interface ChildOptions {
  command: string;
  args: readonly string[];
  /** Both output streams go here; created with its folder, appended to. */
  logFile: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Asks for an orderly end. Default SIGTERM. */
  stopSignal?: NodeJS.Signals;
  /** Run as another user; only root can. */
  runAs?: { uid: number; gid: number } | undefined;
}

export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Set when the program could not be started at all. */
  error?: Error;
}

export interface Child {
  readonly pid: number | undefined;
  /** Resolves once, when the process has ended. Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Asks it to end and, `graceMs` (default 10 s) later, kills its whole group. Safe to call again. */
  stop(graceMs?: number): Promise<ChildExit>;
  /** Kills its whole group at once. */
  kill(): void;
}

const living = new Set<Child>();

/** Stops what is left, for example of a start that was interrupted. */
export async function stopAllChildren(): Promise<void> {
  await Promise.all([...living].map((child) => child.stop()));
}

/** Kills what is left, at once. */
export function killAllChildren(): void {
  for (const child of living) child.kill();
}

/** Starts a program. A program that can't be started shows as `exited` with an error. */
export function startChild(options: ChildOptions): Child {
  const stopSignal = options.stopSignal ?? 'SIGTERM';
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', log, log],
    ...(options.env && { env: options.env }),
    ...(options.cwd && { cwd: options.cwd }),
    ...options.runAs,
  });
  closeSync(log);
  const pid = child.pid;
  if (pid !== undefined) guardChild(pid, stopSignal);

  let isOver = false;
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, error }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  }).then((exit) => {
    isOver = true;
    living.delete(handle);
    if (pid !== undefined) releaseChild(pid);
    return exit;
  });

  const kill = (): void => {
    if (pid === undefined || isOver) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It ended between the check and the signal.
    }
  };

  const stop = async (graceMs = 10_000): Promise<ChildExit> => {
    if (!isOver) child.kill(stopSignal);
    const timer = new AbortController();
    const late = sleep(graceMs, 'late' as const, { signal: timer.signal }).catch(() => undefined);
    if ((await Promise.race([exited, late])) === 'late') kill();
    timer.abort();
    return exited;
  };

  const handle: Child = { pid, exited, stop, kill };
  living.add(handle);
  return handle;
}

/** For sentences: how a process ended. */
export function describeExit(exit: ChildExit): string {
  if (exit.error) return exit.error.message;
  return exit.signal ? `signal ${exit.signal}` : `exit code ${exit.code}`;
}
