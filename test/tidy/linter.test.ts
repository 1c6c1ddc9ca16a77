/** The linter's rules that the house style leans on are on, and they catch what they are for. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'pawl-lint-'));
afterAll(() => rmSync(folder, { recursive: true }));

const lines = (count: number) => Array.from({ length: count }, (_, index) => `  console.log(${index});`).join('\n');

test.each([
  ['max-lines-per-function', `export function long() {\n${lines(60)}\n}\n`],
  ['max-params', 'export function many(a: string, b: string, c: string, d: string) {\n  return a + b + c + d;\n}\n'],
  ['max-depth', 'export function deep(a: boolean) {\n  if (a) for (;;) if (a) while (a) console.log(a);\n}\n'],
  ['no-explicit-any', 'export const whatever: any = 1;\n'],
  ['no-process-env', 'export const path = process.env.PATH;\n'],
  ['no-restricted-imports', "import { eventually } from '@pawl/testkit';\nexport const wait = eventually;\n"],
])('%s', (rule, text) => {
  expect(lint(text)).toContain(rule);
});

test('code within the limits passes', () => {
  expect(lint(`/** Adds. */\nexport function add(a: number, b: number) {\n  return a + b;\n}\n`)).toEqual([]);
});

/** The names of the rules that a file breaks. */
function lint(text: string): string[] {
  const file = join(folder, 'source.ts');
  writeFileSync(file, text);
  const oxlint = join(root, 'node_modules/.bin/oxlint');
  const { stdout, stderr } = spawnSync(oxlint, ['-c', join(root, '.oxlintrc.json'), '--format', 'json', file], {
    encoding: 'utf8',
  });
  const report = JSON.parse(stdout || `{"failed": ${JSON.stringify(stderr)}}`) as {
    diagnostics: Array<{ code: string }>;
  };
  return report.diagnostics.map(({ code }) => /\((.+)\)/.exec(code)?.[1] ?? code);
}
