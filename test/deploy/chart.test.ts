/**
 * The chart with two real Helm programs: every example under odd release names, mistakes told in sentences, and what must not
 * change or be there. K3, K4, K7, K8, K14.
 */
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  chartFolder,
  exampleNames,
  leastValues,
  noTime,
  openHelms,
  podsOf,
  render,
  renderText,
  type Helm,
  type Rendered,
} from './chart-tools.ts';

// Programs are started one after the other, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const releases = ['pawl', 'n', 'y', '123', '1e3', `a-${'long'.repeat(12)}`];
const autoscaled = {
  ...leastValues,
  apps: ['demo', 'other'],
  'nats.monitoringEndpoint': 'nats-headless:8222',
  'llmGateway.autoscaling': { kind: 'keda' },
  'toolRunner.autoscaling': { kind: 'keda' },
  'orchestrator.autoscaling': { kind: 'hpa' },
};
let helms: Helm[] | undefined;
let examples: string[] = [];

beforeAll(async () => {
  helms = await openHelms();
  examples = await exampleNames();
}, 600_000);
beforeEach((context) => {
  if (helms === undefined) context.skip(noTime);
});

const all = () => helms ?? [];
const newest = () => all()[0] as Helm;

describe('every example', () => {
  test('is there', () => expect(examples).toEqual(['air-gapped.yaml', 'production.yaml', 'small.yaml']));

  test('passes the strict lint of both', { timeout: 120_000 }, async () => {
    for (const helm of all()) {
      for (const example of examples) {
        const { code, text } = await helm.run(
          'lint',
          '--strict',
          chartFolder,
          '--values',
          join(chartFolder, 'examples', example),
        );
        expect([helm.version, example, code, text]).toEqual([helm.version, example, 0, expect.any(String)]);
      }
    }
  });

  test.for(releases)('renders under the release name %s, with names and labels that are taken', async (release) => {
    for (const helm of all()) {
      for (const example of examples) {
        const objects = await render(helm, { release, examples: [example], values: { 'image.tag': '20261130123456' } });
        expect(objects.length).toBeGreaterThan(15);
        expect(objects.map(({ metadata }) => metadata.namespace)).toEqual(objects.map(() => 'agents'));
        const values = objects.flatMap(({ metadata }) => Object.values(metadata.labels));
        expect(
          values.filter((value) => typeof value !== 'string' || !/^([A-Za-z0-9][\w.-]{0,61})?\w$/.test(value)),
        ).toEqual([]);
        const texts = objects.flatMap(textsOf);
        expect(texts.filter((text) => typeof text !== 'string')).toEqual([]);
        const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
        expect(new Set(names).size).toBe(names.length);
        expect(names.filter((name) => !/^\w+ [a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name))).toEqual([]);
      }
    }
  });

  test('is the same with both, and the same again', async () => {
    for (const example of examples) {
      const texts = await Promise.all([...all(), newest()].map((helm) => render(helm, { examples: [example] })));
      for (const objects of texts) expect(sorted(objects)).toEqual(sorted(texts[0] ?? []));
    }
  });
});

describe('a mistake is told before anything is installed', () => {
  test.for<[string, object, RegExp]>([
    ['no Secret', { 'nats.url': 'nats://x' }, /Name the Secret that holds the keys and passwords/],
    ['no NATS', { 'secret.existingSecret': 'x' }, /Set nats\.url to the address of a NATS server/],
    ['text for a number', { ...leastValues, 'orchestrator.replicas': 'two' }, /replicas/],
    ['an unknown key', { ...leastValues, 'orchestrator.replica': 2 }, /replica/],
    ['an unknown group', { ...leastValues, orchestrater: {} }, /orchestrater/],
    ['a misspelt variable', { ...leastValues, 'toolRunner.config.PAWL_CALLS_MX': 2 }, /PAWL_CALLS_MX/],
    ['a variable that the chart sets', { ...leastValues, 'toolRunner.config.PAWL_PORT': 2 }, /PAWL_PORT/],
    ['a wrong choice', { ...leastValues, 'nats.mode': 'embedded' }, /mode/],
    ['no pods', { ...leastValues, 'orchestrator.replicas': 0 }, /replicas/],
    ['the tag latest', { ...leastValues, 'image.tag': 'latest' }, /image\.tag must name a version/],
    ['an ingress without a host', { ...leastValues, 'ingress.enabled': true }, /Set host to the name/],
    ['a route without a gateway', { ...leastValues, host: 'a.b', 'gateway.enabled': true }, /gateway\.parentRefs/],
    ['scaling by lag without apps', { ...autoscaled, apps: [] }, /needs apps/],
    ['scaling by lag without an endpoint', { ...autoscaled, 'nats.monitoringEndpoint': '' }, /monitoringEndpoint/],
    ['scaling by lag of what has no queue', { ...autoscaled, 'traceStore.autoscaling.kind': 'keda' }, /kind/],
    ['more pods at the least than at the most', { ...autoscaled, 'llmGateway.autoscaling.minReplicas': 99 }, /larger/],
    ['two Secrets', { ...leastValues, 'secret.externalSecret.key': 'x' }, /not both/],
    ['a store without a name', { 'secret.externalSecret.key': 'x', 'nats.url': 'nats://x' }, /storeName/],
    ['an object of an unknown kind', { ...leastValues, 'objects.inline': [{ kind: 'Agnet' }] }, /kind/],
  ])('%s', async ([, values, sentence]) => {
    for (const helm of all()) {
      const { code, text } = await renderText(helm, { values });
      expect([helm.version, code, text]).toEqual([helm.version, 1, expect.stringMatching(sentence)]);
    }
  });
});

test('a number of pods is not said where an autoscaler owns it', async () => {
  const objects = await render(newest(), { values: autoscaled });
  const replicas = Object.fromEntries(
    ofKind(objects, 'Deployment').map(({ metadata, spec }) => [metadata.name, spec.replicas]),
  );
  expect(replicas).toEqual({
    'pawl-orchestrator': undefined,
    'pawl-llm-gateway': undefined,
    'pawl-tool-runner': undefined,
    'pawl-trace-store': 2,
  });
});

test('a single pod has no disruption budget, several have', async () => {
  const objects = await render(newest(), { values: { ...leastValues, 'orchestrator.replicas': 1 } });
  const budgets = ofKind(objects, 'PodDisruptionBudget').map(({ metadata }) => metadata.name);
  expect(budgets.toSorted()).toEqual(['pawl-llm-gateway', 'pawl-tool-runner', 'pawl-trace-store']);
});

describe('from one version to the next', () => {
  const bundled = {
    'secret.existingSecret': 'pawl',
    'nats.mode': 'bundled',
    'postgres.mode': 'bundled',
    'objects.configMaps': ['mine'],
  };
  const fixedOf = (objects: Rendered[]) =>
    ['Deployment', 'StatefulSet'].flatMap((kind) =>
      ofKind(objects, kind).map(({ metadata, spec }) => {
        const { selector, serviceName, volumeClaimTemplates } = spec;
        return { name: metadata.name, selector, serviceName, volumeClaimTemplates };
      }),
    );

  test('what can not be changed stays, and a Job that differs has another name', async () => {
    const before = await render(newest(), { values: bundled });
    const after = await render(newest(), { values: { ...bundled, 'image.tag': '9.9.9' } });
    expect(fixedOf(before)).toHaveLength(6);
    expect(fixedOf(after)).toEqual(fixedOf(before));
    const jobs = (objects: Rendered[]) => ofKind(objects, 'Job').map(({ metadata }) => metadata.name);
    expect(jobs(before)).toHaveLength(2);
    expect(jobs(before).filter((name) => jobs(after).includes(name))).toEqual([]);
  });

  test('the same Job keeps its name, so it is not run again', async () => {
    const [before, after] = await Promise.all([
      render(newest(), { values: bundled }),
      render(newest(), { values: { ...bundled, 'orchestrator.replicas': 5, 'ingress.className': 'x' } }),
    ]);
    expect(ofKind(after, 'Job')).toEqual(ofKind(before, 'Job'));
  });

  test('other objects, or another revision of them, are declared by another Job', async () => {
    const applied = async (values: object) => {
      const objects = await render(newest(), { values: { ...leastValues, ...values } });
      return ofKind(objects, 'Job').find(({ metadata }) => metadata.name.includes('apply'))?.metadata.name;
    };
    const agent = (name: string) => ({
      'objects.inline': [{ apiVersion: 'pawl.dev/v1', kind: 'Agent', metadata: { app: 'demo', name }, spec: {} }],
    });
    const names = [
      await applied(agent('a')),
      await applied(agent('b')),
      await applied({ 'objects.configMaps': ['mine'] }),
      await applied({ 'objects.configMaps': ['mine'], 'objects.revision': '2' }),
      await applied({ 'objects.configMaps': ['theirs'] }),
    ];
    expect(new Set(names).size).toBe(5);
    expect(await applied({})).toBeUndefined();
  });
});

test('only the test is a hook; nothing that is needed is made before or after the rest', async () => {
  for (const example of examples) {
    const objects = await render(newest(), { examples: [example] });
    const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined);
    expect(hooks.map(({ kind, metadata }) => [kind, metadata.annotations?.['helm.sh/hook']])).toEqual([
      ['Pod', 'test'],
    ]);
  }
});

test('no Secret is made, and whatever a pod refers to is in the release or named by a value', async () => {
  for (const example of examples) {
    const objects = await render(newest(), { examples: [example] });
    expect(ofKind(objects, 'Secret')).toEqual([]);
    const made = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const external = new Set(['demo-objects', 'demo-models', 'demo-tools', 'models', 'nats-ca', 'postgres-ca', 'pawl']);
    for (const { owner, spec } of podsOf(objects)) {
      expect(made, owner).toContain(`ServiceAccount ${spec.serviceAccountName}`);
      for (const name of secretsOf(spec)) {
        expect([owner, name, external.has(name) || made.has(`ExternalSecret ${name}`)]).toEqual([owner, name, true]);
      }
      for (const { configMap } of spec.volumes.filter((volume: { configMap?: object }) => volume.configMap)) {
        const isThere = made.has(`ConfigMap ${configMap.name}`) || external.has(configMap.name);
        expect([owner, configMap.name, isThere]).toEqual([owner, configMap.name, true]);
      }
    }
  }
});

function secretsOf(spec: object): string[] {
  const text = JSON.stringify(spec);
  const references = /"(?:secretKeyRef|secretRef)":\{(?:[^}]*?)"name":"([^"]+)"|"secretName":"([^"]+)"/g;
  return [...text.matchAll(references)].map(([, name, secretName]) => name ?? secretName ?? '');
}

function ofKind(objects: readonly Rendered[], kind: string): Rendered[] {
  return objects.filter((object) => object.kind === kind);
}

function sorted(objects: Rendered[]): Rendered[] {
  const keyOf = ({ kind, metadata }: Rendered) => `${kind} ${metadata.name}`;
  return objects.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** What has to be text wherever it is: labels, annotations, values of variables. */
function textsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const isTexts = ['labels', 'annotations', 'matchLabels', 'nodeSelector', 'data'].includes(key);
    if (isTexts && typeof child === 'object' && child !== null) return Object.values(child);
    if (key === 'env' && Array.isArray(child)) return child.flatMap((each: { value?: unknown }) => each.value ?? []);
    return textsOf(child);
  });
}
