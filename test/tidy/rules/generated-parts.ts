/** What is generated can't fall behind its source. */
import { workspaceOf } from '../layout.ts';
import type { Rule } from '../rule.ts';

export const generatedParts: Rule = {
  name: 'generated-parts',
  reason: 'A generator without a test that compares leaves stale files behind; the test says how to renew them.',
  check: (files) =>
    files
      .filter(({ path }) => path.endsWith('/src/generate.ts'))
      .filter(({ path }) => {
        const tests = files.filter(
          (file) => workspaceOf(file.path) === workspaceOf(path) && file.path.endsWith('.test.ts'),
        );
        return !tests.some(({ text }) => text.includes('run npm run generate'));
      })
      .map(({ path }) => ({
        path,
        message: 'generates what no test compares (with "run npm run generate" as its message)',
      })),
};
