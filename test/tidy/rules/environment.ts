/** The environment is read at one place of each service. */
import { Visitor } from 'oxc-parser';
import { isCode } from '../layout.ts';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';
import { sourceOf } from '../source.ts';

const readers = /(^|\/)config\.ts$|^(libs\/(devstack|testkit)|scripts|test)\/|\.(test|suite)\.ts$/;
const message = 'reads the environment outside of config.ts';

export const environment: Rule = {
  name: 'environment',
  reason:
    'All mistakes of a configuration are reported together, and nothing depends on a variable that nobody documents.',
  check: (files) => files.filter((file) => isCode(file) && !readers.test(file.path)).flatMap(readsOfEnvironment),
};

function readsOfEnvironment(file: SourceFile): Violation[] {
  const { program, imports } = sourceOf(file);
  const found: Violation[] = imports
    .filter(({ specifier, names }) => /^(node:)?process$/.test(specifier) && names.includes('env'))
    .map(({ line }) => ({ path: file.path, line, message }));
  new Visitor({
    MemberExpression(node) {
      const isProcess = node.object.type === 'Identifier' && node.object.name === 'process';
      const name = node.property.type === 'Identifier' ? node.property.name : undefined;
      const text = node.property.type === 'Literal' ? node.property.value : undefined;
      if (isProcess && (name === 'env' || text === 'env')) {
        found.push({ path: file.path, line: lineAt(file.text, node.start), message });
      }
    },
  }).visit(program);
  return found;
}
