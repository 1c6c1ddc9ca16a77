/** Every rendered object has the shape that its API asks for: fields that nobody knows and values of a wrong type don't compile. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPeers } from '@pawl/testkit';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { exampleNames, noTime, openHelms, render, toolsFolder, type Helm, type Rendered } from './chart-tools.ts';

const tsc = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));
const packageOf: Record<string, string> = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'keda.sh': '@kubernetes-models/keda',
  'external-secrets.io': '@kubernetes-models/external-secrets',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
};
/** What no example switches on together. */
const everything = {
  host: 'pawl.example',
  'secret.externalSecret': { key: 'pawl', storeName: 'vault' },
  'secret.existingSecret': '',
  'nats.mode': 'bundled',
  'nats.bundled.storageClass': 'fast',
  'postgres.mode': 'bundled',
  apps: ['demo'],
  appSecrets: [{ secret: 'models', app: 'my-app', services: ['llm-gateway', 'tool-runner'] }],
  'ingress.enabled': true,
  'ingress.tlsSecret': 'tls',
  'gateway.enabled': true,
  'gateway.parentRefs': [{ name: 'inside' }],
  'traceStore.otlpGrpc': true,
  'traceStore.autoscaling.kind': 'hpa',
  'llmGateway.autoscaling.kind': 'keda',
  'toolRunner.autoscaling.kind': 'keda',
  'toolRunner.pools': ['default', 'heavy'],
  'metrics.serviceMonitor': true,
  'metrics.rules': true,
  'metrics.dashboards': true,
  'networkPolicy.clients': [{ namespaceSelector: {} }],
  'networkPolicy.metrics': [{ namespaceSelector: {} }],
  'pods.tolerations': [{ key: 'agents', operator: 'Exists' }],
  'pods.affinity': { nodeAffinity: {} },
  'pods.imagePullSecrets': [{ name: 'images' }],
};
let helm: Helm | undefined;

beforeAll(async () => {
  [helm] = (await openHelms()) ?? [];
}, 600_000);
beforeEach((context) => {
  if (helm === undefined) context.skip(noTime);
});

/** What the compiler says of these objects, written down as literals of their types. */
async function complaintsOf(name: string, objects: readonly object[]): Promise<string> {
  const folder = join(await installPeers(toolsFolder), '.types', name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], module: 'nodenext', target: 'es2024' };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
  const lines = (objects as Rendered[]).map((object, index) => {
    const [version, group = ''] = object.apiVersion.split('/').toReversed();
    const module = [packageOf[group] ?? 'kubernetes-models', group, version].filter(Boolean).join('/');
    const type = `import(${JSON.stringify(module)}).I${object.kind}`;
    return `export const o${index}: ${type} = ${JSON.stringify(object)};`;
  });
  await writeFile(join(folder, 'objects.ts'), lines.join('\n'));
  return await new Promise((resolve) => {
    execFile(tsc, ['-p', folder], { maxBuffer: 8 * 1024 * 1024 }, (_error, stdout) => resolve(stdout));
  });
}

test('of every example, and of everything that can be switched on', { timeout: 240_000 }, async () => {
  const renderings = [
    ...(await exampleNames()).map((example) => ({
      name: example.replace('.yaml', ''),
      options: { examples: [example] },
    })),
    { name: 'everything', options: { values: everything } },
  ];
  for (const { name, options } of renderings) {
    const objects = await render(helm as Helm, options);
    expect([name, await complaintsOf(name, objects)]).toEqual([name, '']);
  }
});

test('an unknown field and a wrong type are found', { timeout: 120_000 }, async () => {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x' },
    spec: { ports: [{ port: 1, prot: 'x' }] },
  };
  expect(await complaintsOf('unknown-field', [service])).toContain('"prot"');
  const scaled = {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name: 'x' },
    spec: { scaleTargetRef: { name: 'x' }, triggers: [{ type: 'x', metadata: { lag: 1 } }] },
  };
  expect(await complaintsOf('wrong-type', [scaled])).toMatch(/number.*string|string.*number/s);
});
