/** Migrations are numbered 0001, 0002, … in each folder. */
import type { Rule, Violation } from '../rule.ts';

export const migrationNumbers: Rule = {
  name: 'migration-numbers',
  reason: 'Two migrations with one number, or a gap, mean that databases differ by who came first.',
  check: (files) => {
    const folders = Map.groupBy(
      files.map(({ path }) => path).filter((path) => /\/migrations\/[^/]+$/.test(path)),
      (path) => path.slice(0, path.lastIndexOf('/')),
    );
    return [...folders.values()].flatMap((paths) => paths.toSorted().flatMap(misnumbered));
  },
};

function misnumbered(path: string, index: number): Violation[] {
  const wanted = String(index + 1).padStart(4, '0');
  const isRight = new RegExp(`/${wanted}_[a-z0-9_]+\\.sql$`).test(path);
  return isRight ? [] : [{ path, message: `should be number ${wanted}, as ${wanted}_what_it_does.sql` }];
}
