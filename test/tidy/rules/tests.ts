/** Tests that run, all of them, and that wait for what they wait for. */
import { matchesGlob } from 'node:path';
import { Visitor, type CallExpression, type Expression } from 'oxc-parser';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';
import { sourceOf } from '../source.ts';

export const testsAreRun: Rule = {
  name: 'tests-are-run',
  reason: 'A test that the runner does not find never fails.',
  check: (files) => {
    const config = files.find(({ path }) => path === 'vitest.config.ts')?.text ?? '';
    const include = globsOf(config, 'include');
    const exclude = globsOf(config, 'exclude');
    return files
      .filter(({ path }) => /[._-](test|tests|spec|e2e)\.[cm]?[jt]sx?$|\/__tests__\//.test(path))
      .filter(
        ({ path }) =>
          !include.some((glob) => matchesGlob(path, glob)) || exclude.some((glob) => matchesGlob(path, glob)),
      )
      .map(({ path }) => ({ path, message: 'is a test that vitest.config.ts does not include' }));
  },
};

function globsOf(config: string, key: string): string[] {
  const list = new RegExp(`\\b${key}: \\[([^\\]]*)\\]`).exec(config)?.[1] ?? '';
  return [...list.matchAll(/'([^']*)'/g)].map(([, glob = '']) => glob);
}

const switches = new Set(['only', 'skip', 'todo', 'skipIf', 'runIf']);
const makers = new Set(['test', 'it', 'describe', 'suite', 'bench']);

export const reasonedSkips: Rule = {
  name: 'reasoned-skips',
  reason: 'A test that is left out says why, with context.skip("reason"); `only` leaves out all others.',
  check: (files) => testFiles(files).flatMap((file) => findCalls(file, switchedOff)),
};

function switchedOff({ callee, arguments: given }: CallExpression): string | undefined {
  const [root, ...path] = nameOf(callee);
  const found = path.find((part) => switches.has(part));
  if (!root || !found) return undefined;
  if (makers.has(root)) return `uses ${root}.${found}`;
  return found === 'skip' && given.length === 0 ? 'skips a test without a reason' : undefined;
}

export const noSleeps: Rule = {
  name: 'no-sleeps',
  reason:
    'A test that sleeps is slow on a fast machine and fails on a slow one: wait for a signal, or poll with a deadline.',
  check: (files) =>
    testFiles(files).flatMap((file) => {
      const pauses = sourceOf(file).imports.some(
        ({ specifier, names }) => /^(node:)?timers\/promises$/.test(specifier) && names.length > 0,
      );
      return [...findCalls(file, sleepOfPromise), ...(pauses ? findImports(file) : [])];
    }),
};

/** `new Promise((resolve) => setTimeout(resolve, 100))`: nothing but time makes it go on. */
function sleepOfPromise({ callee, arguments: given }: CallExpression): string | undefined {
  const [callback, delay] = given;
  if (nameOf(callee).join('.') !== 'setTimeout' || callback?.type !== 'Identifier') return undefined;
  return delay === undefined || isConstant(delay) ? 'sleeps' : undefined;
}

function isConstant(node: { type: string }): boolean {
  return node.type === 'Literal' || node.type === 'Identifier' || node.type === 'BinaryExpression';
}

function findImports(file: SourceFile): Violation[] {
  return sourceOf(file)
    .imports.filter(({ specifier }) => /^(node:)?timers\/promises$/.test(specifier))
    .map(({ line }) => ({ path: file.path, line, message: 'imports timers that sleep' }));
}

function testFiles(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /\.(test|suite)\.ts$/.test(path));
}

function findCalls(file: SourceFile, mistakeOf: (call: CallExpression) => string | undefined): Violation[] {
  const found: Violation[] = [];
  new Visitor({
    CallExpression(call) {
      const message = mistakeOf(call);
      if (message) found.push({ path: file.path, line: lineAt(file.text, call.start), message });
    },
  }).visit(sourceOf(file).program);
  return found;
}

/** `test.skip.each` → `['test', 'skip', 'each']`; calls and templates in between are passed over. */
function nameOf(node: Expression | CallExpression['callee']): string[] {
  switch (node.type) {
    case 'Identifier':
      return [node.name];
    case 'MemberExpression':
      return [...nameOf(node.object), node.property.type === 'Identifier' ? node.property.name : ''];
    case 'CallExpression':
      return nameOf(node.callee);
    case 'TaggedTemplateExpression':
      return nameOf(node.tag);
    default:
      return [];
  }
}
