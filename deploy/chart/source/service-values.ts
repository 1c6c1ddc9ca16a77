/** The values that each of the four services has, and the words for what they have in common. */
import { z } from 'zod';

/** Parts of Kubernetes objects, passed on as they are. */
export const anyObject = z.record(z.string(), z.unknown());
export const anyObjects = z.array(anyObject);
export const texts = z.record(z.string(), z.string());
/** A name of an object; empty: none. */
export const name = z.string().regex(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/);
export const count = (max: number) => z.int().min(1).max(max);
export const seconds = z.int().min(0).max(86_400);

/** Variables that the chart sets itself, from other values. */
export const managedVariables = new Set([
  'PAWL_HOST',
  'PAWL_PORT',
  'PAWL_NATS_URL',
  'PAWL_NATS_USER',
  'PAWL_NATS_PASSWORD',
  'PAWL_NATS_CA_FILE',
  'PAWL_NATS_CERT_FILE',
  'PAWL_NATS_KEY_FILE',
  'PAWL_PARTITIONS',
  'PAWL_REPLICAS',
  'PAWL_DATABASE_URL',
  'PAWL_DATABASE_CA_FILE',
  'PAWL_ADMIN_KEY',
  'PAWL_ALLOW_PRIVATE_HOSTS',
  'PAWL_LOG_LEVEL',
  'PAWL_DRAIN_MS',
  'PAWL_THINK_DRAIN_MS',
  'PAWL_ORCHESTRATOR_URL',
  'PAWL_POOLS',
  'PAWL_TOOL_SUBJECTS',
  'PAWL_OTLP_GRPC_PORT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_SERVICE_NAME',
]);

/** Other variables, by name: a misspelt one is refused before anything is installed. */
export function configOf(variableNames: readonly string[], what: string) {
  const free = variableNames.filter((variable) => !managedVariables.has(variable)).toSorted();
  const value = z.union([z.string(), z.int(), z.boolean()]).optional();
  return z
    .strictObject(Object.fromEntries(free.map((variable) => [variable, value])))
    .default({})
    .describe(`${what}: ${free.join(', ')}.`);
}

export const resources = (defaults: { cpu: string; memory: string; memoryLimit: string }) =>
  anyObject
    .default({
      requests: { cpu: defaults.cpu, memory: defaults.memory },
      limits: { memory: defaults.memoryLimit },
    })
    .describe('Requests and limits. No limit of CPU by default: it would only make calls slow.');

type ServiceDefaults = {
  variableNames: readonly string[];
  scalers: readonly ['none', 'hpa', ...'keda'[]];
  /** Where calls go on after the drain. */
  longestCall?: { seconds: number; what: string };
  drainSeconds: number;
  resources: { cpu: string; memory: string; memoryLimit: string };
};

export function serviceShape({ variableNames, scalers, longestCall, drainSeconds, resources: size }: ServiceDefaults) {
  return {
    replicas: count(1_000).default(2).describe('Pods, where no autoscaler owns their number.'),
    autoscaling: z
      .strictObject({
        kind: z
          .enum(scalers)
          .default('none')
          .describe(`What owns the number of pods: ${scalers.join(', ')}.`),
        minReplicas: count(1_000).default(2).describe('Pods at the least.'),
        maxReplicas: count(1_000).default(10).describe('Pods at the most.'),
        cpuPercent: count(1_000)
          .default(70)
          .describe('With `hpa`: how busy pods should be, in percent of their request.'),
        ...(scalers.length > 2 && {
          lag: count(100_000).default(20).describe('With `keda`: pieces of work in a queue for each pod.'),
        }),
      })
      .prefault({})
      .describe('Who decides how many pods there are.'),
    drainSeconds: seconds
      .min(5)
      .default(drainSeconds)
      .describe(
        'Serve on for so long after the pod was told to stop: until no load balancer sends it anything any more, and ' +
          'as long as streams of events shall go on. A stream that is ended then is taken up elsewhere where it was.',
      ),
    ...(longestCall && { longestCallSeconds: seconds.default(longestCall.seconds).describe(longestCall.what) }),
    resources: resources(size),
    config: configOf(variableNames, 'Further variables of its config.ts'),
    extraEnv: anyObjects.default([]).describe('Further variables of its container (EnvVar).'),
    podAnnotations: texts.default({}).describe('Further annotations of its pods.'),
    podLabels: texts.default({}).describe('Further labels of its pods.'),
  };
}

/** A small server of a kind that Pawl needs. */
export const bundled = (image: string) => ({
  image: z.string().default(image).describe('Image of the bundled server.'),
  storageSize: z.string().default('8Gi').describe('Size of its volume; empty: none, everything is gone with the pod.'),
  storageClass: z.string().default('').describe('Storage class of its volume; empty: the default of the cluster.'),
  resources: resources({ cpu: '100m', memory: '256Mi', memoryLimit: '1Gi' }),
});
