/**
 * The last line of `npm test` and its exit code, on folders of tests that have to fail.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

function runTests(fixture: string): { lastLine: string; output: string; status: number | null } {
  const file = fileURLToPath(new URL('test.ts', import.meta.url));
  const root = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [file, '--root', root], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  return { lastLine: stdout.trimEnd().split('\n').at(-1) ?? '', output: stdout, status };
}

test.each([
  ['passing', '1 passed, 0 failed, 0 skipped', 0],
  ['failing', '1 passed, 1 failed, 0 skipped', 1],
  ['skipped', '1 passed, 0 failed, 1 skipped', 0],
  ['unreasoned', '0 passed, 3 failed, 0 skipped', 1],
  ['broken', '0 passed, 1 failed, 0 skipped', 1],
  ['hook', '1 passed, 2 failed, 0 skipped', 1],
  ['empty', '0 passed, 1 failed, 0 skipped', 1],
])('a folder with %s tests ends with "%s"', (fixture, lastLine, status) => {
  const result = runTests(fixture);
  expect(result.lastLine, result.output).toBe(lastLine);
  expect(result.status).toBe(status);
});

test('a skipped test prints its reason', () => {
  expect(runTests('skipped').output).toContain('needs an abacus: there is no abacus here');
});
