/** What tests of the chart look at: every example and two further renderings, and how to read what is in them. */
import { beforeAll, beforeEach } from 'vitest';
import {
  exampleNames,
  leastValues,
  noTime,
  openHelms,
  podsOf,
  render,
  type Helm,
  type Rendered,
} from './chart-tools.ts';

/** Everything in the cluster, and all that can be switched on. */
export const bundled = {
  'secret.existingSecret': 'pawl',
  'nats.mode': 'bundled',
  'postgres.mode': 'bundled',
  apps: ['demo', 'shop'],
  'toolRunner.pools': ['default', 'heavy'],
  'llmGateway.autoscaling.kind': 'keda',
  'toolRunner.autoscaling.kind': 'keda',
  'traceStore.otlpGrpc': true,
  'objects.configMaps': ['mine'],
  allowPrivateHosts: ['a.internal', 'b.internal'],
  'telemetry.otlpEndpoint': 'http://collector:4318',
};
/** Servers outside, over TLS. */
const external = {
  ...leastValues,
  'nats.caSecret': 'nats-ca',
  'nats.certificateSecret': 'nats-cert',
  'postgres.caSecret': 'postgres-ca',
  'objects.configMaps': ['mine'],
};

export type Renderings = {
  helm: Helm;
  of(name: string): Rendered[];
  all(): Rendered[][];
  names(): string[];
};

/** Renders before the tests of a file, which are skipped where Helm is not installed. */
export function useRenderings(): Renderings {
  const byName = new Map<string, Rendered[]>();
  const renderings = {
    of: (name) => byName.get(name) ?? [],
    all: () => [...byName.values()],
    names: () => [...byName.keys()],
  } as Renderings;
  beforeAll(async () => {
    const [helm] = (await openHelms()) ?? [];
    if (helm === undefined) return;
    renderings.helm = helm;
    for (const example of await exampleNames()) byName.set(example, await render(helm, { examples: [example] }));
    byName.set('bundled', await render(helm, { values: bundled }));
    byName.set('external', await render(helm, { values: external }));
  }, 600_000);
  beforeEach((context) => {
    if (renderings.helm === undefined) context.skip(noTime);
  });
  return renderings;
}

export function ofKind(objects: readonly Rendered[], kind: string): Rendered[] {
  return objects.filter((object) => object.kind === kind);
}

export type Container = {
  name: string;
  image: string;
  command?: string[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }[];
  envFrom?: { prefix: string; secretRef: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  resources: { requests: object; limits: object };
  securityContext: object;
  volumeMounts: { name: string; mountPath: string }[];
  startupProbe?: { httpGet?: { path: string } };
  livenessProbe?: { httpGet?: { path: string } };
  readinessProbe?: { httpGet?: { path: string } };
};

/** Containers of a pod, those that run before it first. */
export function containersOf(spec: { containers: Container[]; initContainers?: Container[] }): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** The containers of the one pod whose owner's name has this in it. */
export function containersOfPod(objects: readonly Rendered[], owner: string): Container[] {
  const pod = podsOf(objects).find((each) => each.owner.includes(owner));
  if (!pod) throw new Error(`there is no pod of ${owner}`);
  return containersOf(pod.spec as { containers: Container[] });
}

export function matches(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

export function plainEnv(container: Container | undefined): Record<string, string | undefined> {
  return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
}

/** As a container would have it: Secrets read, `$(NAME)` replaced by what was defined before. */
export function resolvedEnv(container: Container): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env) {
    const reference = valueFrom?.secretKeyRef;
    const text = value ?? `secret-of-${reference?.name}-${reference?.key}`;
    environment[name] = text.replaceAll(/\$\((\w+)\)/g, (whole, part: string) => environment[part] ?? whole);
  }
  return environment;
}
