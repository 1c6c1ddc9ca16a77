/**
 * The rules of the repository, each tried on fixtures (what it must catch, and what it must let pass) and then on the
 * repository itself.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseArchive } from './archive.ts';
import { readRepository } from './repository.ts';
import { describeViolation } from './rule.ts';
import { rules } from './rules.ts';
import { longFiles } from './rules/file-length.ts';

const files = readRepository(fileURLToPath(new URL('../../', import.meta.url)));
const fixtures = new URL('fixtures/', import.meta.url);
const fixture = (rule: string, name: string) =>
  parseArchive(readFileSync(new URL(`${rule}/${name}.txtar`, fixtures), 'utf8'));

describe.each(rules)('$name', ({ name, reason, check }) => {
  test('catches what it is for', () => {
    const { expected, files: broken } = fixture(name, 'caught');
    expect(expected.length).toBeGreaterThan(0);
    expect(check(broken).map(describeViolation).toSorted()).toEqual(expected.toSorted());
  });

  test('lets pass what is well', () => {
    const { files: clean } = fixture(name, 'clean');
    expect(clean.length).toBeGreaterThan(0);
    expect(check(clean).map(describeViolation)).toEqual([]);
  });

  test('is kept', () => {
    expect(check(files).map(describeViolation), reason).toEqual([]);
  });
});

test('no fixture is left without a rule', () => {
  const names = new Set(rules.map(({ name }) => name));
  const withoutRule = readdirSync(fixtures).filter(
    (folder) => !names.has(folder) && existsSync(new URL(`${folder}/caught.txtar`, fixtures)),
  );
  expect(withoutRule).toEqual([]);
});

test('the repository was read', () => {
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['package.json', '.ci/run', 'libs/contracts/src/facts.ts', 'test/tidy/tidy.test.ts']),
  );
  expect(paths.filter((path) => path.includes('node_modules'))).toEqual([]);
});

test('files that are getting long are listed', () => {
  const long = longFiles(files).map(describeViolation);
  if (long.length > 0) console.warn(`Worth parting soon:\n${long.join('\n')}`);
  expect(long.length).toBeLessThan(files.length);
});
