import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tryLock } from './process-lock.mjs';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-lock-'));
  path = join(folder, 'deep/er/dev.lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('only one has it, and the other learns who', () => {
  const first = tryLock(path);
  expect(first.release).toBeTypeOf('function');
  expect(tryLock(path)).toEqual({ heldBy: process.pid });
  first.release?.();
  expect(existsSync(path)).toBe(false);
  const second = tryLock(path);
  expect(second.release).toBeTypeOf('function');
  second.release?.();
});

test('the lock of a process that is gone is taken over', () => {
  tryLock(path).release?.();
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(path, `${pid} token`);
  const lock = tryLock(path);
  expect(lock.release).toBeTypeOf('function');
  lock.release?.();
  expect(readdirSync(join(folder, 'deep/er'))).toEqual([]);
});

test('the lock of a process that has not touched it for long is taken over, though its number is in use', () => {
  tryLock(path).release?.();
  writeFileSync(path, `${process.pid} token`);
  expect(tryLock(path)).toEqual({ heldBy: process.pid });
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(path, longAgo, longAgo);
  const lock = tryLock(path);
  expect(lock.release).toBeTypeOf('function');
  lock.release?.();
});

test('who has lost the lock does not remove that of its successor', () => {
  const first = tryLock(path);
  rmSync(path);
  const second = tryLock(path);
  first.release?.();
  expect(tryLock(path)).toEqual({ heldBy: process.pid });
  second.release?.();
});
