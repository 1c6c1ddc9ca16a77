import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { eventually } from '@pawl/testkit';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('fixtures/service.ts', import.meta.url));

/** A real process made of such parts; `until` waits for a line of its output. */
function startService(...parts: string[]) {
  const child = spawn(process.execPath, [script, ...parts], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  const lines = () => output.split('\n').filter(Boolean);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    lines,
    until: (line: string) => eventually(() => lines().includes(line), { withinMs: 15_000, what: line }),
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    exited: exited.then(([code]) => code),
  };
}

test.for(['SIGTERM', 'SIGINT'] as const)('%s: all drain, then stop in reverse, exit code 0', async (signal) => {
  const service = startService('a', 'b', 'c');
  await service.until('start c');
  service.kill(signal);
  expect(await service.exited).toBe(0);
  const start = ['start a', 'start b', 'start c'];
  expect(service.lines()).toEqual([...start, 'drain a', 'drain b', 'drain c', 'stop c', 'stop b', 'stop a']);
});

test('a part that fails to start: what had started is stopped, exit code 1', async () => {
  const service = startService('a', 'b', 'c:start-fails', 'd');
  expect(await service.exited).toBe(1);
  expect(service.lines()).toEqual(['start a', 'start b', 'start c', 'stop b', 'stop a']);
});

test('a part that fails to stop: the others are stopped all the same, exit code 1', async () => {
  const service = startService('a', 'b:stop-fails', 'c');
  await service.until('start c');
  service.kill('SIGTERM');
  expect(await service.exited).toBe(1);
  expect(service.lines().slice(-3)).toEqual(['stop c', 'stop b', 'stop a']);
});

test('a signal while a start hangs: what has started is stopped, nothing else starts, exit code 0', async () => {
  const service = startService('a', 'b:start-hangs', 'c');
  await service.until('start b');
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(service.lines()).toEqual(['start a', 'start b', 'drain a', 'stop a']);
});

test('a second signal ends a stop that hangs, exit code 1', async () => {
  const service = startService('a', 'b:stop-hangs');
  await service.until('start b');
  service.kill('SIGTERM');
  await service.until('stop b');
  service.kill('SIGTERM');
  expect(await service.exited).toBe(1);
});
