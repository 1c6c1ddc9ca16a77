/** Patterns in the code of services and libraries take time linear in the text, whatever the text is. */
import { Visitor } from 'oxc-parser';
import { analyse } from 'scslre';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';
import { sourceOf } from '../source.ts';

export const linearPatterns: Rule = {
  name: 'linear-patterns',
  reason:
    'A text of a tool, a model or a client may be anything, and whoever searches it holds up all others meanwhile. ' +
    'Where a pattern can start or share characters in many places, give it one: /(?<!\\/)\\/+$/, /a\\s+(\\S.*)/, /[^\\S\\n]*b/m.',
  check: (files) => files.filter(isProduct).flatMap(findSlowPatterns),
};

function isProduct({ path }: SourceFile): boolean {
  return /^(libs|services)\/.*\.tsx?$/.test(path) && !/\.(test|suite)\.tsx?$/.test(path);
}

function findSlowPatterns(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  new Visitor({
    Literal(literal) {
      if (!('regex' in literal)) return;
      const { pattern: source, flags } = literal.regex;
      const [report] = analyse({ source, flags }).reports;
      if (!report) return;
      const line = lineAt(file.text, literal.start);
      const slowness = report.exponential ? 'exponential' : 'quadratic';
      const message = `takes ${slowness} time for many ${report.character.literal.source}`;
      violations.push({ path: file.path, line, message });
    },
  }).visit(sourceOf(file).program);
  return violations;
}
