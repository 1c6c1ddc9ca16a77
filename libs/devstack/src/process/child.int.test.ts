/**
 * Real processes: what a child does when it is stopped, and when its parent is killed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from './child.ts';
import { poll } from './poll.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-child-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a child ends on its stop signal, and its output is in the log', async () => {
  const logFile = join(folder, 'logs/polite.log');
  const script =
    "process.on('SIGINT', () => { console.error('bye'); process.exit(3) }); console.log('hello'); setInterval(() => 0, 1000)";
  const child = startChild({ command: process.execPath, args: ['-e', script], logFile, stopSignal: 'SIGINT' });
  await poll(async () => (readFileSync(logFile, 'utf8').includes('hello') ? true : undefined), { deadlineMs: 20_000 });
  expect(await child.stop()).toEqual({ code: 3, signal: null });
  expect(readFileSync(logFile, 'utf8')).toBe('hello\nbye\n');
  expect(await child.stop()).toEqual({ code: 3, signal: null });
});

test('a child that ignores its stop signal is killed', async () => {
  const logFile = join(folder, 'stubborn.log');
  const script = "process.on('SIGTERM', () => console.log('no')); console.log('hello'); setInterval(() => 0, 1000)";
  const child = startChild({ command: process.execPath, args: ['-e', script], logFile });
  await poll(async () => (readFileSync(logFile, 'utf8').includes('hello') ? true : undefined), { deadlineMs: 20_000 });
  expect(await child.stop(200)).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a program that does not exist shows as an exit with an error', async () => {
  const child = startChild({ command: '/does/not/exist', args: [], logFile: join(folder, 'none.log') });
  expect((await child.exited).error?.message).toContain('ENOENT');
});

test('kill -9 of the parent leaves no child behind', async () => {
  const script = join(import.meta.dirname, 'fixtures/parent.ts');
  const parent = spawn(process.execPath, [script, join(folder, 'orphan.log')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const childPid = Number(line.toString());
  expect(isRunning(childPid)).toBe(true);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  const isGone = await poll(async () => (isRunning(childPid) ? undefined : true), { deadlineMs: 20_000 });
  expect(isGone).toBe(true);
});

/** A process that has ended but that nobody has waited for does not run any more. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    // No /proc on macOS: the signal alone has to do.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && process.platform === 'darwin';
  }
}
