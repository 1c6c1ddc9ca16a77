/** What the manifests of packages say, as far as rules ask. */
import { isBundled, isForTests, isCode, packageOf, workspaceOf } from '../layout.ts';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';
import { sourceOf } from '../source.ts';

type Dependencies = Record<string, string>;
type Manifest = Partial<
  Record<'dependencies' | 'devDependencies' | 'optionalDependencies' | 'peerDependencies', Dependencies>
>;

const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const;

export const exactVersions: Rule = {
  name: 'exact-versions',
  reason: 'What is installed today is installed tomorrow, and an update is a change that somebody made.',
  check: (files) =>
    files
      .filter(({ path }) => /(^|\/)package\.json$/.test(path))
      .flatMap((file) => {
        const manifest = JSON.parse(file.text) as Manifest;
        return kinds.flatMap((kind) =>
          Object.entries(manifest[kind] ?? {})
            .filter(([name, version]) => !isExact(name, version))
            .map(([name, version]) => ({
              path: file.path,
              line: lineAt(file.text, file.text.indexOf(`"${name}"`)),
              message: `asks for ${name} as ${JSON.stringify(version)} instead of one version`,
            })),
        );
      }),
};

function isExact(name: string, version: string): boolean {
  return name.startsWith('@pawl/') ? version === '*' : /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version);
}

export const declaredDependencies: Rule = {
  name: 'declared-dependencies',
  reason:
    'A package that only happens to be installed is gone, or another version, after the next update of something else.',
  check: (files) => {
    const manifests = new Map(
      files
        .filter(({ path }) => /(^|\/)package\.json$/.test(path))
        .map(({ path, text }) => [path.replace(/\/?package\.json$/, ''), JSON.parse(text) as Manifest] as const),
    );
    return files.filter(isCode).flatMap((file) => undeclaredImports(file, manifests));
  },
};

function undeclaredImports(file: SourceFile, manifests: Map<string, Manifest>): Violation[] {
  const workspace = workspaceOf(file.path);
  const own = manifests.get(workspace) ?? {};
  const root = manifests.get('') ?? {};
  return sourceOf(file).imports.flatMap(({ specifier, isType, line }) => {
    const name = packageOf(specifier);
    if (name === undefined) return [];
    // The root has no packages of its own: it may use those of the repository.
    if (workspace === '' && name.startsWith('@pawl/')) return [];
    const isDevelopment = isType || isForTests(file.path) || isBundled(file.path) || workspace === '';
    const declared = { ...own.dependencies, ...own.optionalDependencies, ...own.peerDependencies };
    const allowed = isDevelopment ? { ...root.devDependencies, ...own.devDependencies, ...declared } : declared;
    return name in allowed ? [] : [{ path: file.path, line, message: undeclared(name, workspace) }];
  });
}

function undeclared(name: string, workspace: string): string {
  return `imports ${name}, which ${workspace === '' ? 'the root' : workspace} does not declare for this use`;
}
