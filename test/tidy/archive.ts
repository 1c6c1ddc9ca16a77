/**
 * Fixtures as one text with many files, so that they can have any path and break any rule without doing so themselves:
 * lines before the first `-- path --` say what is expected, then each such line begins a file.
 */
import type { SourceFile } from './repository.ts';

export type Archive = { expected: string[]; files: SourceFile[] };

/** Reads an archive. Lines that start with `#` before the first file are remarks. */
export function parseArchive(text: string): Archive {
  const [head = '', ...rest] = text.split(/^-- (.+) --\n/m);
  const files: SourceFile[] = [];
  for (let part = 0; part < rest.length; part += 2) files.push({ path: rest[part] ?? '', text: rest[part + 1] ?? '' });
  return { expected: head.split('\n').filter((line) => line !== '' && !line.startsWith('#')), files };
}
