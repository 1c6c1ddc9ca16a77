/** Reads the repository as the rules see it: text files with paths from its root, nothing that is installed or generated. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file with its path from the repository's root, `/` between the parts. */
export type SourceFile = { readonly path: string; readonly text: string };

const skippedFolders = new Set(['.git', '.pawl', '.turbo', 'coverage', 'dist', 'node_modules']);
const textFile =
  /(\.(ts|tsx|mts|mjs|js|json|md|sql|ya?ml|css|html|sh|tpl|txt|toml)|Dockerfile|\.npmrc|\.gitignore|\.ci\/run)$/;

/** Pictures are there to be linked to; nobody reads them. */
const picture = /\.(png|svg)$/;

/** Every text file and picture below `root`, in order of its path. Files under `fixtures` belong to their tests and are left out. */
export function readRepository(root: string, folder = ''): SourceFile[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true }).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  return entries.flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      const isSkipped = skippedFolders.has(entry.name) || entry.name === 'fixtures';
      return isSkipped ? [] : readRepository(root, path);
    }
    if (picture.test(path)) return [{ path, text: '' }];
    return textFile.test(path) ? [{ path, text: readFileSync(join(root, path), 'utf8') }] : [];
  });
}
