/** What documents show as an object to declare can be declared as it stands. */
import { registryObjectSchema, registryPaths } from '@pawl/contracts';
import { parseAllDocuments } from 'yaml';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';

export const documentedObjects: Rule = {
  name: 'documented-objects',
  reason: 'The first thing that a newcomer does with an object in a document is to copy it and to apply it.',
  check: (files) => files.filter(({ path }) => path.endsWith('.md')).flatMap(mistakesIn),
};

function mistakesIn(file: SourceFile): Violation[] {
  return [...file.text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].flatMap((block) => {
    const documents: unknown[] = parseAllDocuments(block[1] ?? '').map((document): unknown => document.toJS());
    const line = lineAt(file.text, block.index);
    return documents.filter(isObject).flatMap((document) => {
      const mistake = registryObjectSchema.safeParse(document).error?.issues[0];
      if (!mistake) return [];
      const where = mistake.path.length === 0 ? '' : `${mistake.path.join('.')}: `;
      return [
        { path: file.path, line, message: `shows a ${document.kind} that is refused, ${where}${mistake.message}` },
      ];
    });
  });
}

/** A part of one, without its kind, is shown as a part. */
function isObject(document: unknown): document is { kind: string } {
  return (
    typeof document === 'object' && document !== null && 'kind' in document && String(document.kind) in registryPaths
  );
}
