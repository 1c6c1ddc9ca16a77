/** What a library offers is explained where it is declared. */
import type { Program } from 'oxc-parser';
import { resolvePath } from '../layout.ts';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';
import { sourceOf } from '../source.ts';

type Statement = Program['body'][number];
type Declared = { name: string; start: number; /** Where docs may begin at the latest. */ docsUntil: number };

export const publicDocs: Rule = {
  name: 'public-docs',
  reason:
    'Units, errors and what may be repeated can’t be read off a signature. Types that derive from a schema are explained by it.',
  check: (files) => {
    const known = new Map(files.map((file) => [file.path, file]));
    const indexes = files.filter(({ path }) => /^libs\/[^/]+\/src\/index\.ts$/.test(path));
    const found = indexes.flatMap((index) => undocumented(index, undefined, known));
    return [...new Map(found.map((violation) => [`${violation.path} ${violation.message}`, violation])).values()];
  },
};

/** `names`: those that are wanted of the file; all when undefined. */
function undocumented(file: SourceFile, names: Set<string> | undefined, known: Map<string, SourceFile>): Violation[] {
  return sourceOf(file).program.body.flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration') return follow(statement.source.value, names);
    if (statement.type !== 'ExportNamedDeclaration') return [];
    if (statement.source) {
      const wanted = statement.specifiers.map(({ local }) => (local.type === 'Identifier' ? local.name : ''));
      return follow(statement.source.value, new Set(wanted));
    }
    return declaredBy(statement)
      .filter(({ name }) => names?.has(name) ?? true)
      .filter((declared) => !hasDocs(file, declared))
      .map(({ name, start }) => ({
        path: file.path,
        line: lineAt(file.text, start),
        message: `offers ${name} without a word on it`,
      }));
  });

  function follow(specifier: string, wanted: Set<string> | undefined): Violation[] {
    const target = known.get(resolvePath(file.path, specifier));
    return target ? undocumented(target, wanted, known) : [];
  }
}

/**
 * The functions, classes and written-out types that a statement exports. A type may be explained by what is said on its
 * fields instead.
 */
function declaredBy(statement: Statement): Declared[] {
  const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : null;
  if (!declaration) return [];
  const { start, end } = statement;
  switch (declaration.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return declaration.id ? [{ name: declaration.id.name, start, docsUntil: start }] : [];
    case 'TSInterfaceDeclaration':
      return [{ name: declaration.id.name, start, docsUntil: end }];
    case 'TSTypeAliasDeclaration':
      return declaration.typeAnnotation.type === 'TSTypeLiteral'
        ? [{ name: declaration.id.name, start, docsUntil: end }]
        : [];
    case 'VariableDeclaration':
      return declaration.declarations.flatMap(({ id, init }) =>
        id.type === 'Identifier' && init?.type === 'ArrowFunctionExpression'
          ? [{ name: id.name, start, docsUntil: start }]
          : [],
      );
    default:
      return [];
  }
}

function hasDocs(file: SourceFile, { start, docsUntil }: Declared): boolean {
  return sourceOf(file).comments.some((comment) => {
    if (comment.type !== 'Block' || !comment.value.startsWith('*')) return false;
    const isAbove = comment.end <= start && file.text.slice(comment.end, start).trim() === '';
    return isAbove || (start < comment.start && comment.end < docsUntil);
  });
}
