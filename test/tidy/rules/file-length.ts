/** Files stay short enough to be read in one go. */
import type { SourceFile } from '../repository.ts';
import type { Rule, Violation } from '../rule.ts';

const SOFT_LINES = 300;
const HARD_LINES = 400;

export const fileLength: Rule = {
  name: 'file-length',
  reason: `A file of more than ${HARD_LINES} lines does more than one thing: part what decides from what acts.`,
  check: (files) => longerThan(files, HARD_LINES),
};

/** Files that are worth parting before they get too long. */
export function longFiles(files: readonly SourceFile[]): Violation[] {
  return longerThan(files, SOFT_LINES);
}

function longerThan(files: readonly SourceFile[], linesMax: number): Violation[] {
  return files
    .filter(({ path }) => /\.(ts|mts|mjs|js|css|html|sql)$/.test(path))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0) }))
    .filter(({ lines }) => lines > linesMax)
    .map(({ path, lines }) => ({ path, message: `has ${lines} lines; the limit is ${linesMax}` }));
}
