/** Source files say at their head what they are for. */
import { isForTests } from '../layout.ts';
import type { Rule } from '../rule.ts';

export const headComment: Rule = {
  name: 'head-comment',
  reason: 'A reader learns the role of a file, and what it must not do, before its details.',
  check: (files) =>
    files
      .filter(({ path }) => /\/src\/.*\.ts$/.test(path) && !isForTests(path))
      .filter(({ text }) => !/^(#!.*\n)?\/\*\*[\s*]*[^\s*/]/.test(text))
      .map(({ path }) => ({ path, line: 1, message: 'does not begin with a comment that says what it is for' })),
};
