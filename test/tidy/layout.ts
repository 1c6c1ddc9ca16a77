/** What a path says about a file: its workspace, and whether it is code or part of the tests. */
import type { SourceFile } from './repository.ts';

export function isCode({ path }: SourceFile): boolean {
  return /\.(ts|tsx|mts|mjs|js)$/.test(path) && !path.endsWith('.d.mts') && !path.endsWith('.d.ts');
}

/** Whether a file exists for tests alone. */
export function isForTests(path: string): boolean {
  return /\.(test|suite|bench)\.ts$/.test(path) || /\/testing\//.test(path) || /^(test|libs\/testkit)\//.test(path);
}

/** Whether a file is built into a page: what it imports is in the result, not in what the service needs while it runs. */
export function isBundled(path: string): boolean {
  return /^services\/[^/]+\/web\//.test(path);
}

/** The folder of the workspace that a file belongs to; the empty text for the root. */
export function workspaceOf(path: string): string {
  return /^(?:(?:libs|services|examples)\/[^/]+|test)(?=\/)/.exec(path)?.[0] ?? '';
}

/** The package of a bare import, or undefined for a path or a module of Node. `@pawl/bus/x` → `@pawl/bus`. */
export function packageOf(specifier: string): string | undefined {
  if (/^(\.|\/|node:|data:|file:)/.test(specifier)) return undefined;
  return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0];
}

/** The path that a relative import leads to. */
export function resolvePath(from: string, specifier: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
