/**
 * What holds of every rendered pod: security, probes, resources, variables, and that values reach all of them. K5, K6, K9, K10, K11, K12.
 */
import { readFile } from 'node:fs/promises';
import { services } from '@pawl/contracts';
import { baseConfigShape } from '@pawl/service';
import * as llmGateway from '@pawl/llm-gateway/config';
import * as orchestrator from '@pawl/orchestrator/config';
import * as toolRunner from '@pawl/tool-runner/config';
import * as traceStore from '@pawl/trace-store/config';
import { describe, expect, test, vi } from 'vitest';
import {
  bundled,
  containersOf,
  containersOfPod,
  matches,
  ofKind,
  plainEnv,
  resolvedEnv,
  useRenderings,
  type Container,
} from './chart-renderings.ts';
import { leastValues, podsOf, render } from './chart-tools.ts';

// Programs are started one after the other, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const configs = {
  orchestrator: orchestrator.loadConfig,
  'llm-gateway': llmGateway.loadConfig,
  'tool-runner': toolRunner.loadConfig,
  'trace-store': traceStore.loadConfig,
};
const names: Record<string, readonly string[]> = {
  orchestrator: orchestrator.variableNames,
  'llm-gateway': llmGateway.variableNames,
  'tool-runner': toolRunner.variableNames,
  'trace-store': traceStore.variableNames,
  setup: orchestrator.setupVariableNames,
  apply: orchestrator.applyVariableNames,
  'check-services': orchestrator.checkVariableNames,
};
/** `toolRunner.longestCallSeconds`, which no example changes. */
const longestToolCallMs = 120_000;
const renderings = useRenderings();
const allPods = () => renderings.all().flatMap(podsOf);
const allContainers = () =>
  allPods().flatMap(({ owner, spec }) => containersOf(spec).map((container) => ({ owner, container, spec })));

describe('every pod', () => {
  test('is restricted, has no token of the cluster, and no variables of other services', () => {
    expect(allPods().length).toBeGreaterThan(30);
    for (const { owner, spec } of allPods()) {
      expect([owner, spec]).toEqual([
        owner,
        expect.objectContaining({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: expect.objectContaining({
            runAsNonRoot: true,
            runAsUser: expect.toSatisfy((user: number) => user > 0),
            seccompProfile: { type: 'RuntimeDefault' },
          }),
        }),
      ]);
      for (const key of ['hostNetwork', 'hostPID', 'hostIPC']) expect(spec).not.toHaveProperty(key);
      for (const volume of spec.volumes) {
        expect(['configMap', 'emptyDir', 'name', 'secret']).toEqual(expect.arrayContaining(Object.keys(volume)));
      }
    }
    for (const account of renderings.all().flatMap((objects) => ofKind(objects, 'ServiceAccount'))) {
      expect(account.automountServiceAccountToken).toBe(false);
    }
  });

  test('has containers with a read-only root, no rights, a size, a version, and a place for temporary files', () => {
    for (const { owner, container } of allContainers()) {
      const place = `${owner} ${container.name}`;
      expect([place, container.securityContext]).toEqual([
        place,
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      ]);
      const size = { requests: { cpu: expect.any(String), memory: expect.any(String) } };
      expect([place, container.resources]).toEqual([
        place,
        expect.objectContaining({ ...size, limits: { memory: expect.any(String) } }),
      ]);
      expect(container.image, place).toMatch(/:[\w.-]+$/);
      expect(container.image, place).not.toMatch(/:latest$/);
      expect(container.volumeMounts, place).toContainEqual({ name: 'tmp', mountPath: '/tmp' });
      const variables = container.env.map(({ name }) => name);
      expect(variables, place).toEqual([...new Set(variables)]);
    }
  });

  test('runs an image that is built, with a command that is in it', async () => {
    const dockerfile = await readFile(new URL('../../deploy/images/Dockerfile', import.meta.url), 'utf8');
    const targets = [...dockerfile.matchAll(/ AS (pawl-[a-z-]+)$/gm)].map(([, target = '']) => target);
    const images = new Set<string>();
    for (const { owner, container } of allContainers()) {
      const image = /(?:^|\/)(pawl-[a-z-]+):/.exec(container.image)?.[1];
      if (image === undefined) continue;
      images.add(image);
      expect([owner, image, targets.includes(image)]).toEqual([owner, image, true]);
      if (container.command === undefined) continue;
      const [program, script] = container.command;
      expect([owner, program, script]).toEqual([owner, 'node', expect.stringContaining(image.replace('pawl-', '/'))]);
      expect((await readFile(new URL(`../../${script}`, import.meta.url), 'utf8')).length).toBeGreaterThan(0);
    }
    expect([...images].toSorted(byText)).toEqual(targets.toSorted(byText));
  });
});

describe('services', () => {
  const deployments = () => renderings.all().flatMap((objects) => ofKind(objects, 'Deployment'));

  test('are asked by probes for what each probe is about', () => {
    for (const { spec } of deployments()) {
      const [container] = spec.template.spec.containers as Container[];
      expect(container?.startupProbe?.httpGet?.path).toBe('/healthz/live');
      expect(container?.livenessProbe?.httpGet?.path).toBe('/healthz/live');
      expect(container?.readinessProbe?.httpGet?.path).toBe('/healthz/ready');
    }
    for (const { owner, spec } of allPods().filter(({ owner: of }) => /^(Job|Pod) /.test(of))) {
      for (const { livenessProbe } of containersOf(spec)) expect([owner, livenessProbe]).toEqual([owner, undefined]);
      expect(spec).not.toHaveProperty('activeDeadlineSeconds');
    }
  });

  test('may take as long to stop as they drain and their longest call takes, and are replaced one by one', () => {
    for (const { metadata, spec } of deployments()) {
      const env = plainEnv(spec.template.spec.containers[0]);
      const isRunner = metadata.name === 'pawl-tool-runner';
      const callMs = isRunner ? longestToolCallMs : Number(env['PAWL_THINK_DRAIN_MS'] ?? 0);
      const neededMs = Number(env['PAWL_DRAIN_MS']) + (isRunner ? 1 : 2) * callMs;
      expect(Number(env['PAWL_DRAIN_MS'])).toBeGreaterThanOrEqual(5_000);
      const graceMs = spec.template.spec.terminationGracePeriodSeconds * 1_000;
      expect([metadata.name, graceMs > neededMs]).toEqual([metadata.name, true]);
      expect(spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
      for (const spread of spec.template.spec.topologySpreadConstraints) {
        expect(spread.whenUnsatisfiable).toBe('ScheduleAnyway');
        expect(spread.labelSelector.matchLabels).toEqual(spec.selector.matchLabels);
      }
    }
  });

  test('listen where their Services, probes and policies look for them', () => {
    for (const name of renderings.names()) {
      const objects = renderings.of(name);
      for (const service of services) {
        const deployment = ofKind(objects, 'Deployment').find(
          ({ metadata }) => metadata.name === `pawl-${service.name}`,
        );
        const [container] = (deployment?.spec.template.spec.containers ?? []) as Container[];
        const port = container?.ports?.find((each) => each.name === 'http')?.containerPort;
        expect([name, service.name, port]).toEqual([name, service.name, service.port]);
        expect(plainEnv(container)['PAWL_PORT']).toBe(String(service.port));
      }
      for (const { metadata, spec } of ofKind(objects, 'Service')) {
        const pods = podsOf(objects).filter((pod) => matches(spec.selector, pod.metadata.labels));
        expect([metadata.name, pods.length]).toEqual([metadata.name, 1]);
        const ports = containersOf(pods[0]?.spec).flatMap((container) =>
          (container.ports ?? []).map((port) => port.name),
        );
        for (const port of spec.ports) expect(ports).toContain(port.targetPort);
      }
    }
  });
});

describe('variables', () => {
  const pawlContainers = () =>
    allContainers().filter(({ container }) => container.name in names || container.name.startsWith('migrate-'));

  test('are those that the program reads, and a program that starts with them has no complaint', () => {
    expect(pawlContainers().length).toBeGreaterThan(40);
    for (const { owner, container } of pawlContainers()) {
      const known = names[container.name] ?? ['PAWL_DATABASE_URL', 'PAWL_DATABASE_CA_FILE'];
      const given = container.env.map(({ name }) => name);
      // Only there to be put into another.
      const parts = given.filter((name) => container.env.some(({ value }) => value?.includes(`$(${name})`)));
      const unknown = given.filter((name) => !known.includes(name) && !parts.includes(name));
      expect([owner, container.name, unknown]).toEqual([owner, container.name, []]);

      const environment = resolvedEnv(container);
      if (container.name in configs) configs[container.name as keyof typeof configs](environment);
      else if (container.name === 'setup') orchestrator.loadSetupConfig(environment);
      else if (container.name === 'apply') orchestrator.loadApplyConfig(environment);
      else if (container.name === 'check-services') orchestrator.loadCheckConfig(environment);
      else baseConfigShape.PAWL_DATABASE_URL.parse(environment['PAWL_DATABASE_URL']);
    }
  });

  test('of all services and of one come from values, numbers as they are', async () => {
    const values = {
      ...leastValues,
      config: { PAWL_OIDC_ISSUER: 'https://issuer' },
      'toolRunner.config': { PAWL_CALLS_MAX: 10_000, PAWL_RESULT_BYTES_MAX: 67_108_864, PAWL_MCP_COMMANDS: '*' },
    };
    const objects = await render(renderings.helm, { values });
    for (const { name } of services) {
      const [container] = containersOfPod(objects, `Deployment pawl-${name}`);
      const environment = plainEnv(container);
      expect(environment['PAWL_OIDC_ISSUER']).toBe('https://issuer');
      const isRunner = name === 'tool-runner';
      expect(environment['PAWL_RESULT_BYTES_MAX']).toBe(isRunner ? '67108864' : undefined);
    }
  });

  test('name files that are mounted', () => {
    const files = pawlContainers().flatMap(({ container }) =>
      container.env
        .filter(({ name, value }) => /_(FILE|DIR)$/.test(name) && value !== undefined)
        .map(({ value = '' }) => ({ value, mounts: container.volumeMounts.map(({ mountPath }) => mountPath) })),
    );
    expect(files.length).toBeGreaterThan(10);
    for (const { value, mounts } of files) {
      expect([value, mounts.some((mount) => value.startsWith(`${mount}/`) || mount.startsWith(`${value}/`))]).toEqual([
        value,
        true,
      ]);
    }
  });

  test('of a bundled Postgres hold its password, those of a server outside come from the Secret whole', () => {
    const urlOf = (name: string) => {
      const [container] = containersOfPod(renderings.of(name), 'Deployment pawl-orchestrator');
      return container && resolvedEnv(container)['PAWL_DATABASE_URL'];
    };
    expect(urlOf('bundled')).toBe('postgres://pawl:secret-of-pawl-postgres-password@pawl-postgres:5432/pawl');
    expect(urlOf('external')).toBe('secret-of-pawl-database-url');
  });

  test('of apps come from their Secrets, under their names', async () => {
    const values = {
      ...leastValues,
      appSecrets: [
        { secret: 'mine', app: 'my-app', services: ['tool-runner'] },
        { secret: 'ours', services: ['tool-runner', 'llm-gateway'] },
      ],
    };
    const objects = await render(renderings.helm, { values });
    const from = Object.fromEntries(
      ofKind(objects, 'Deployment').map(({ metadata, spec }) => [
        metadata.name,
        spec.template.spec.containers[0].envFrom,
      ]),
    );
    const ours = { prefix: 'PAWL_SECRET_', secretRef: { name: 'ours' } };
    expect(from).toEqual({
      'pawl-orchestrator': undefined,
      'pawl-trace-store': undefined,
      'pawl-llm-gateway': [ours],
      'pawl-tool-runner': [{ prefix: 'PAWL_SECRET_MY_APP_', secretRef: { name: 'mine' } }, ours],
    });
  });
});

test('values for pods reach every pod, values of a service reach its own', async () => {
  const pods = {
    labels: { team: 'agents' },
    annotations: { note: 'x' },
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'a', operator: 'Exists' }],
    affinity: { nodeAffinity: { x: 1 } },
    imagePullSecrets: [{ name: 'images' }],
    priorityClassName: 'high',
    extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy' }],
    extraVolumes: [{ name: 'more', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
    runAsUser: 4_000_000,
  };
  const values = {
    ...bundled,
    pods,
    'toolRunner.extraEnv': [{ name: 'OWN', value: '1' }],
    'toolRunner.podLabels': { own: '1' },
  };
  const objects = await render(renderings.helm, { values });
  expect(podsOf(objects)).toHaveLength(9);
  for (const { owner, metadata, spec } of podsOf(objects)) {
    expect([owner, metadata.labels]).toEqual([owner, expect.objectContaining(pods.labels)]);
    expect([owner, metadata.annotations]).toEqual([owner, expect.objectContaining(pods.annotations)]);
    const { nodeSelector, tolerations, affinity, imagePullSecrets, priorityClassName } = pods;
    expect([owner, spec]).toEqual([
      owner,
      expect.objectContaining({ nodeSelector, tolerations, affinity, imagePullSecrets, priorityClassName }),
    ]);
    expect(spec.volumes).toContainEqual(pods.extraVolumes[0]);
    const isServer = /(nats|postgres)$/.test(owner);
    expect([owner, isServer || spec.securityContext.runAsUser === pods.runAsUser]).toEqual([owner, true]);
    for (const container of containersOf(spec)) {
      expect(container.env).toContainEqual(pods.extraEnv[0]);
      expect(container.volumeMounts).toContainEqual(pods.extraVolumeMounts[0]);
      const isOwn = owner === 'Deployment pawl-tool-runner';
      expect([owner, container.env.some(({ name }) => name === 'OWN')]).toEqual([owner, isOwn]);
    }
  }
});

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
