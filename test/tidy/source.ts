/** The syntax of a source file: its imports, its tree, its comments. Parsed once per file. */
import { parseSync, type Comment, type Expression, type Program } from 'oxc-parser';
import type { SourceFile } from './repository.ts';
import { lineAt } from './rule.ts';

export type Import = { specifier: string; names: string[]; isType: boolean; line: number };
export type Source = { program: Program; imports: Import[]; comments: Comment[] };

const known = new WeakMap<SourceFile, Source>();

/** Throws when the file can't be parsed. */
export function sourceOf(file: SourceFile): Source {
  const source = known.get(file) ?? parse(file);
  known.set(file, source);
  return source;
}

function parse(file: SourceFile): Source {
  const { program, module, comments, errors } = parseSync(file.path, file.text);
  if (errors[0]) throw new Error(`${file.path}: ${errors[0].message}`);
  const statics = module.staticImports.map(({ start, moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    names: entries.filter(({ isType }) => !isType).map(({ importName }) => importName.name ?? '*'),
    isType: entries.length > 0 && entries.every(({ isType }) => isType),
    line: lineAt(file.text, start),
  }));
  const reexports = module.staticExports.flatMap(({ start, entries }) =>
    entries.flatMap(({ moduleRequest, importName, isType }) => {
      if (!moduleRequest) return [];
      return [
        { specifier: moduleRequest.value, names: [importName.name ?? '*'], isType, line: lineAt(file.text, start) },
      ];
    }),
  );
  const dynamics = module.dynamicImports.flatMap(({ start, moduleRequest }) => {
    const literal = /^(['"])(.*)\1$/s.exec(file.text.slice(moduleRequest.start, moduleRequest.end));
    return literal?.[2] ? [{ specifier: literal[2], names: ['*'], isType: false, line: lineAt(file.text, start) }] : [];
  });
  return { program, comments, imports: [...statics, ...reexports, ...dynamics] };
}

/** `test.skip.each` → `['test', 'skip', 'each']`; calls and templates in between are passed over. */
export function nameOf(node: Expression): string[] {
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
