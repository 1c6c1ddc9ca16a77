/** What a rule of the repository is: a pure function over its files. */
import type { SourceFile } from './repository.ts';

/** One place that breaks a rule. `line` counts from 1. */
export type Violation = { path: string; line?: number; message: string };

export type Rule = {
  /** Kebab-case; its fixtures lie in a folder of this name. */
  name: string;
  /** Why it is a rule, for whoever meets it. */
  reason: string;
  check(files: readonly SourceFile[]): Violation[];
};

/** `path:line message`, as editors and terminals make it a link. */
export function describeViolation({ path, line, message }: Violation): string {
  return `${path}${line === undefined ? '' : `:${line}`} ${message}`;
}

/** The line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let found = text.indexOf('\n'); found !== -1 && found < offset; found = text.indexOf('\n', found + 1)) line += 1;
  return line;
}

/** A violation for every match of the pattern in every file. */
export function findText(
  files: readonly SourceFile[],
  pattern: RegExp,
  message: (found: string) => string,
): Violation[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((found) => ({ path, line: lineAt(text, found.index), message: message(found[0]) })),
  );
}
