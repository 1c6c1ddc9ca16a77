/**
 * Tells the watcher process which children to end when this process is gone. One watcher per process, started at first use.
 */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

let pipe: Writable | undefined;

/** From now on `pid` gets `signal` (and, 5 s later, SIGKILL for its whole group) when this process is gone. */
export function guardChild(pid: number, signal: NodeJS.Signals): void {
  watcherPipe().write(`+${pid} ${signal}\n`);
}

/** The child is gone; its pid may soon belong to someone else. */
export function releaseChild(pid: number): void {
  pipe?.write(`-${pid}\n`);
}

function watcherPipe(): Writable {
  if (pipe) return pipe;
  const script = fileURLToPath(new URL('./watcher.ts', import.meta.url));
  // Detached: Ctrl-C reaches the whole group of the terminal, and the watcher has to outlive it.
  const watcher = spawn(process.execPath, [script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  watcher.on('error', () => undefined);
  watcher.unref();
  pipe = watcher.stdin;
  pipe.on('error', () => undefined);
  (watcher.stdin as unknown as { unref(): void }).unref();
  return pipe;
}
