/** Tests that run, all of them, and that wait for what they wait for. */
import { matchesGlob } from 'node:path';
import { Visitor, type CallExpression } from 'oxc-parser';
import type { SourceFile } from '../repository.ts';
import { describeViolation, lineAt, type Rule, type Violation } from '../rule.ts';
import { nameOf, sourceOf } from '../source.ts';

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
    'A test that sleeps is slow on a fast machine and fails on a slow one: wait for a signal, or poll with a deadline. ' +
    'Where a length of time is what is tested, say so above: // Time is what is tested: …',
  check: (files) => testFiles(files).flatMap((file) => [...findImports(file), ...findSleeps(file)]),
};

const waiters = new Set([...makers, 'beforeAll', 'beforeEach', 'afterAll', 'afterEach']);
type Span = { start: number; end: number };

/**
 * `new Promise((resolve) => setTimeout(resolve, 100))` in the body of a test or hook, or as all that a function does.
 * The pause between two looks of a loop is none, nor is the slowness of a part that is played.
 */
function findSleeps(file: SourceFile): Violation[] {
  const { loops, functions, bodies } = partsOf(file);
  return findCalls(file, ({ callee, arguments: [callback, delay], start }) => {
    if (nameOf(callee).join('.') !== 'setTimeout' || callback?.type !== 'Identifier') return undefined;
    const isFixed = delay === undefined || /^(Literal|Identifier|BinaryExpression)$/.test(delay.type);
    // The innermost function is the one that the promise is made with.
    const owner = functions.filter((part) => isAround(part, start)).toSorted((a, b) => b.start - a.start)[1];
    const isWaiting = !owner || owner.isOneStatement || bodies.has(owner.start);
    const isPoll = loops.some((part) => isAround(part, start));
    return isFixed && isWaiting && !isPoll && !isTimeTested(file, start) ? 'sleeps' : undefined;
  });
}

function isAround(part: Span, offset: number): boolean {
  return part.start < offset && offset < part.end;
}

/** The loops and functions of a file, and where the functions begin that are bodies of tests and hooks. */
function partsOf(file: SourceFile) {
  const loops: Span[] = [];
  const functions: Array<Span & { isOneStatement: boolean }> = [];
  const bodies = new Set<number>();
  const noteLoop = ({ start, end }: Span) => void loops.push({ start, end });
  const noteFunction = ({ start, end, body }: Span & { body: { type: string; body?: unknown } | null }) => {
    const isOneStatement = body?.type !== 'BlockStatement' || (Array.isArray(body.body) && body.body.length === 1);
    functions.push({ start, end, isOneStatement });
  };
  new Visitor({
    WhileStatement: noteLoop,
    DoWhileStatement: noteLoop,
    ForStatement: noteLoop,
    ArrowFunctionExpression: noteFunction,
    FunctionExpression: noteFunction,
    FunctionDeclaration: noteFunction,
    CallExpression({ callee, arguments: given }) {
      if (waiters.has(nameOf(callee)[0] ?? '')) for (const { start } of given) bodies.add(start);
    },
  }).visit(sourceOf(file).program);
  return { loops, functions, bodies };
}

function isTimeTested({ text }: SourceFile, start: number): boolean {
  const lineAbove = text.slice(0, start).split('\n').at(-2) ?? '';
  return lineAbove.trim().startsWith('// Time is what is tested: ');
}

function findImports(file: SourceFile): Violation[] {
  return sourceOf(file)
    .imports.filter(({ specifier, names }) => /^(node:)?timers\/promises$/.test(specifier) && names.length > 0)
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
  // `test.skip.each(…)(…)` is two calls, one around the other.
  return [...new Map(found.map((violation) => [describeViolation(violation), violation])).values()];
}
