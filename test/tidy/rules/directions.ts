/** Which package may use which: contracts ← telemetry ← {bus, db} ← service ← services, and contracts ← calls ← services. */
import { isCode, isForTests, packageOf, resolvePath, workspaceOf } from '../layout.ts';
import type { SourceFile } from '../repository.ts';
import type { Rule, Violation } from '../rule.ts';
import { sourceOf } from '../source.ts';

const beneathServices = ['contracts', 'calls', 'redaction', 'telemetry', 'bus', 'db', 'service'];
const uses: Record<string, readonly string[]> = {
  'libs/contracts': [],
  'libs/calls': ['contracts'],
  'libs/redaction': [],
  'libs/telemetry': ['contracts'],
  'libs/bus': ['contracts', 'telemetry'],
  'libs/db': ['contracts', 'telemetry'],
  'libs/service': ['contracts', 'telemetry', 'bus', 'db'],
  'libs/client': ['contracts'],
  'libs/sim': ['contracts'],
  'libs/devstack': ['contracts', 'client', 'sim'],
  'libs/testkit': ['contracts', 'devstack'],
};
const inTests = ['testkit', 'devstack', 'client', 'sim'];

export const directions: Rule = {
  name: 'directions',
  reason: 'Services share nothing but messages, and a library never knows who uses it.',
  check: (files) => files.filter(isCode).flatMap(wrongImports),
};

function wrongImports(file: SourceFile): Violation[] {
  const workspace = workspaceOf(file.path);
  // The root's scripts and the tests of the whole may use everything.
  if (workspace === '' || workspace === 'test') return [];
  const allowed = new Set(
    [...usesOf(workspace), ...(isForTests(file.path) ? inTests : [])].map((name) => `@pawl/${name}`),
  );
  return sourceOf(file).imports.flatMap(({ specifier, line }) => {
    const name = packageOf(specifier);
    if (name?.startsWith('@pawl/') && !allowed.has(name)) {
      return [{ path: file.path, line, message: `imports ${name}, which is not beneath it` }];
    }
    const target = specifier.startsWith('.') ? resolvePath(file.path, specifier) : undefined;
    if (target === undefined) return [];
    if (workspaceOf(target) !== workspace) return [{ path: file.path, line, message: `reaches into ${target}` }];
    if (isForTests(target) && !isForTests(file.path))
      return [{ path: file.path, line, message: `uses ${target}, which is for tests` }];
    return [];
  });
}

function usesOf(workspace: string): readonly string[] {
  if (workspace.startsWith('services/')) return beneathServices;
  if (workspace.startsWith('examples/')) return ['contracts', 'client'];
  return uses[workspace] ?? [];
}

export const importPaths: Rule = {
  name: 'import-paths',
  reason: 'Node runs the sources as they are: an import names the file, ending included, in the spelling that it has.',
  check: (files) => {
    const paths = new Set(files.map(({ path }) => path));
    return files.filter(isCode).flatMap((file) =>
      sourceOf(file)
        .imports.filter(({ specifier }) => specifier.startsWith('.'))
        .filter(({ specifier }) => !paths.has(resolvePath(file.path, specifier)))
        .map(({ specifier, line }) => ({ path: file.path, line, message: `imports ${specifier}, which is no file` })),
    );
  },
};

export const composition: Rule = {
  name: 'composition',
  reason: 'A service is put together at one place; read from top to bottom it is the architecture.',
  check: (files) =>
    files
      .filter((file) => isCode(file) && /^(services|examples)\//.test(file.path) && !isForTests(file.path))
      .filter(({ path }) => !/^services\/[^/]+\/src\/(main|service|migrate|tasks\/setup)\.ts$/.test(path))
      .flatMap((file) =>
        sourceOf(file)
          .imports.filter(({ specifier }) => /^@pawl\/(bus|db)$/.test(specifier))
          .flatMap(({ names, line }) =>
            names
              .filter((name) => /^connect[A-Z]/.test(name))
              .map((name) => ({ path: file.path, line, message: `uses ${name}, which belongs into service.ts` })),
          ),
      ),
};
