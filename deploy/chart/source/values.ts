/**
 * The one source of the chart's values: what there is, what it is by default, what it means. `values.yaml`,
 * `values.schema.json` and the table in the README are generated from here.
 */
import { objectNameSchema, registryPaths, type RegistryKind } from '@pawl/contracts';
import * as llmGateway from '@pawl/llm-gateway/config';
import * as orchestrator from '@pawl/orchestrator/config';
import * as toolRunner from '@pawl/tool-runner/config';
import * as traceStore from '@pawl/trace-store/config';
import { z } from 'zod';
import {
  configOf,
  anyObject,
  anyObjects,
  bundled,
  count,
  name,
  resources,
  seconds,
  serviceShape,
  texts,
} from './service-values.ts';

/** What each of the four reads. */
const commonVariables = [orchestrator, llmGateway, toolRunner, traceStore]
  .map(({ variableNames }) => variableNames)
  .reduce((common, names) => common.filter((each) => names.includes(each)));
const kinds = Object.keys(registryPaths) as RegistryKind[];

export const valuesSchema = z.strictObject({
  image: z
    .strictObject({
      registry: z
        .string()
        .default('')
        .describe('Where the four images lie, for example `example.com/pawl`; empty: by name only.'),
      tag: z.string().default('').describe("Tag of the four images; empty: the chart's appVersion. Never `latest`."),
      pullPolicy: z
        .enum(['IfNotPresent', 'Always', 'Never'])
        .default('IfNotPresent')
        .describe('When nodes fetch them.'),
    })
    .prefault({})
    .describe('The images `pawl-orchestrator`, `pawl-llm-gateway`, `pawl-tool-runner`, `pawl-trace-store`.'),
  host: z.string().default('').describe('The one host name under which clients reach runs, chat, traces and the page.'),
  secret: z
    .strictObject({
      existingSecret: name.default('').describe('Name of a Secret that exists.'),
      externalSecret: z
        .strictObject({
          key: z.string().default('').describe('Key in the store whose fields become the fields of the Secret.'),
          storeName: name.default('').describe('Name of the store.'),
          storeKind: z.enum(['SecretStore', 'ClusterSecretStore']).default('ClusterSecretStore').describe('Its kind.'),
          refreshInterval: z.string().default('1h').describe('How often it is looked at.'),
        })
        .prefault({})
        .describe('Or: have External Secrets make it.'),
    })
    .prefault({})
    .describe(
      'The Secret with `admin-key`, `database-url` (or `postgres-password` where Postgres is bundled) and, with `nats.users`, ' +
        'a password per user: `nats-orchestrator`, `nats-llm-gateway`, `nats-tool-runner`, `nats-trace-store`, `nats-setup`. ' +
        'The chart never makes one up.',
    ),
  appSecrets: z
    .array(
      z.strictObject({
        secret: name.min(1),
        app: objectNameSchema.optional(),
        services: z.array(z.enum(['orchestrator', 'llm-gateway', 'tool-runner'])).min(1),
      }),
    )
    .default([])
    .describe(
      'Secrets whose fields apps may use as `${secret:FIELD}`: `{secret, app, services}`; without `app` every app may. ' +
        'Keys of models are for `llm-gateway`, those of tools for `tool-runner`, those of webhooks for `orchestrator`.',
    ),
  apps: z
    .array(objectNameSchema)
    .default([])
    .describe('Apps whose queues are made before the services start, so that scalers by lag find them.'),
  objects: z
    .strictObject({
      inline: z
        .array(
          z.looseObject({
            apiVersion: z.literal('pawl.dev/v1'),
            kind: z.enum(kinds),
            metadata: anyObject,
            spec: anyObject,
          }),
        )
        .default([])
        .describe('Agents, tools, routes, budgets, data sources and MCP servers to declare.'),
      configMaps: z
        .array(name.min(1))
        .default([])
        .describe('ConfigMaps whose files hold such objects as YAML or JSON.'),
      revision: z.string().default('').describe('Change it to have ConfigMaps of your own declared again.'),
      waitSeconds: seconds.default(600).describe('How long the Job waits for the services.'),
    })
    .prefault({})
    .describe('What a Job declares after each change.'),
  nats: z
    .strictObject({
      mode: z.enum(['external', 'bundled']).default('external').describe('`bundled`: one small server, for trials.'),
      url: z.string().default('').describe('Of an external server: `nats://host:4222` or `tls://…`; several by comma.'),
      port: count(65_535)
        .default(4222)
        .describe('The port of its pods, for network policies; the one of the endpoint is allowed, too.'),
      peers: anyObjects.default([]).describe('Where it is, for network policies (NetworkPolicyPeer); empty: anywhere.'),
      users: z
        .boolean()
        .default(true)
        .describe('Each service connects as a user of its own: see `files/nats-users.json`.'),
      streamReplicas: z
        .int()
        .min(1)
        .max(5)
        .default(3)
        .describe('Copies of each stream; one where the server is bundled.'),
      partitions: count(1_024).default(8).describe('Partitions of the run log. Fixed once the log exists.'),
      toolSubjects: z
        .array(z.string().min(1))
        .default(['tools.>'])
        .describe('Subjects that tools of kind `nats` may use; `{app}` stands for the app.'),
      caSecret: name
        .default('')
        .describe('Secret with `ca.crt`: connections are then encrypted and the server is checked.'),
      certificateSecret: name.default('').describe('Secret with `tls.crt` and `tls.key` to show to the server.'),
      monitoringEndpoint: z
        .string()
        .default('')
        .describe('Host and port where every server answers for itself (a headless Service), for scalers by lag.'),
      account: z.string().default('$G').describe('The account in which the streams are, for scalers by lag.'),
      bundled: z.strictObject(bundled('nats:2.12-alpine')).prefault({}).describe('The bundled server.'),
    })
    .prefault({})
    .describe('The messages between the services.'),
  postgres: z
    .strictObject({
      mode: z.enum(['external', 'bundled']).default('external').describe('`bundled`: one small server, for trials.'),
      port: count(65_535).default(5432).describe('Port of an external server, for network policies.'),
      peers: anyObjects.default([]).describe('Where it is, for network policies (NetworkPolicyPeer); empty: anywhere.'),
      caSecret: name
        .default('')
        .describe('Secret with `ca.crt`: connections are then encrypted and the server is checked.'),
      bundled: z.strictObject(bundled('postgres:18-alpine')).prefault({}).describe('The bundled server.'),
    })
    .prefault({})
    .describe('Where runs, money, effects and traces are kept.'),
  ingress: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Make an Ingress for `host`.'),
      className: z.string().default('').describe('Its class.'),
      annotations: texts.default({}).describe('Its annotations: streams want no buffering and long timeouts.'),
      tlsSecret: name.default('').describe('Secret with its certificate.'),
    })
    .prefault({})
    .describe('The way in, as an Ingress.'),
  gateway: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Make an HTTPRoute for `host`.'),
      parentRefs: anyObjects.default([]).describe('The Gateways that it belongs to.'),
      requestTimeout: z.string().default('0s').describe('Longest request; `0s`: none, since streams are long.'),
    })
    .prefault({})
    .describe('The way in, as a route of the Gateway API.'),
  networkPolicy: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Allow the connections that Pawl needs, and no others.'),
      clients: anyObjects
        .default([])
        .describe('Who may reach the services, such as an ingress controller; empty: everybody.'),
      metrics: anyObjects
        .default([])
        .describe('Who may also reach metrics, such as Prometheus, where clients are named.'),
      dns: anyObjects
        .default([{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }])
        .describe('Where names are looked up.'),
      collector: anyObjects.default([]).describe('Where the OpenTelemetry collector is; empty: anywhere, on its port.'),
      privateCidrs: z
        .array(z.string())
        .default(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10'])
        .describe('What is not the internet: models, tools and webhooks are not reached there, unless they are named.'),
      models: anyObjects
        .default([])
        .describe('Further egress rules of the gateway, for models inside (NetworkPolicyEgressRule).'),
      tools: anyObjects
        .default([])
        .describe('Further egress rules of the tool-runner, for tools and databases inside.'),
      webhooks: anyObjects
        .default([])
        .describe('Further egress rules of the orchestrator, for receivers of webhooks inside.'),
      issuer: anyObjects
        .default([])
        .describe('Further egress rules of all services, for an issuer of tokens inside (`PAWL_OIDC_ISSUER`).'),
    })
    .prefault({})
    .describe('Who may talk to whom.'),
  telemetry: z
    .strictObject({
      otlpEndpoint: z
        .string()
        .default('')
        .describe('Collector, for example `http://otel-collector:4318`; empty: none.'),
      otlpPort: count(65_535).default(4318).describe('Its port, for network policies.'),
    })
    .prefault({})
    .describe('Traces of Pawl itself.'),
  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])
    .default('info')
    .describe('How much is logged.'),
  allowPrivateHosts: z
    .array(z.string())
    .default([])
    .describe('Hosts that tools, model routes and webhooks may reach although they are private.'),
  pods: z
    .strictObject({
      labels: texts.default({}).describe('Further labels.'),
      annotations: texts.default({}).describe('Further annotations.'),
      nodeSelector: texts.default({}).describe('Nodes by label.'),
      tolerations: anyObjects.default([]).describe('Taints that are borne.'),
      affinity: anyObject.default({}).describe('Affinity.'),
      imagePullSecrets: anyObjects.default([]).describe('Secrets for fetching images: `{name}`.'),
      priorityClassName: z.string().default('').describe('Priority class.'),
      extraEnv: anyObjects.default([]).describe('Further variables (EnvVar).'),
      extraVolumes: anyObjects.default([]).describe('Further volumes.'),
      extraVolumeMounts: anyObjects.default([]).describe('Where they are mounted.'),
      runAsUser: count(4_294_967_294).default(65_532).describe('User and group of the four images.'),
    })
    .prefault({})
    .describe('What holds for every pod: of services, Jobs, tests and bundled servers.'),
  config: configOf(commonVariables, 'Further variables of all four services'),
  orchestrator: z
    .strictObject(
      serviceShape({
        variableNames: orchestrator.variableNames,
        scalers: ['none', 'hpa'],
        drainSeconds: 60,
        resources: { cpu: '250m', memory: '256Mi', memoryLimit: '1Gi' },
      }),
    )
    .prefault({})
    .describe('Takes runs in and decides what comes next.'),
  llmGateway: z
    .strictObject(
      serviceShape({
        variableNames: llmGateway.variableNames,
        scalers: ['none', 'hpa', 'keda'],
        drainSeconds: 10,
        longestCall: { seconds: 300, what: 'The longest model call: one under way when a pod stops may end.' },
        resources: { cpu: '250m', memory: '256Mi', memoryLimit: '1Gi' },
      }),
    )
    .prefault({})
    .describe('Calls models and keeps the books.'),
  toolRunner: z
    .strictObject({
      ...serviceShape({
        variableNames: toolRunner.variableNames,
        scalers: ['none', 'hpa', 'keda'],
        drainSeconds: 10,
        longestCall: { seconds: 120, what: 'The longest tool call: one under way when a pod stops may end.' },
        resources: { cpu: '250m', memory: '384Mi', memoryLimit: '1Gi' },
      }),
      pools: z.array(objectNameSchema).min(1).default(['default']).describe('Pools whose calls it executes.'),
    })
    .prefault({})
    .describe('Executes tool calls.'),
  traceStore: z
    .strictObject({
      ...serviceShape({
        variableNames: traceStore.variableNames,
        scalers: ['none', 'hpa'],
        drainSeconds: 60,
        resources: { cpu: '250m', memory: '256Mi', memoryLimit: '1Gi' },
      }),
      otlpGrpc: z.boolean().default(false).describe('Take spans of other agents over gRPC, on port 4317.'),
    })
    .prefault({})
    .describe('Keeps the record and shows the page.'),
  setup: z
    .strictObject({
      backoffLimit: z.int().min(0).max(100).default(20).describe('How often it is tried.'),
      resources: resources({ cpu: '50m', memory: '128Mi', memoryLimit: '512Mi' }),
    })
    .prefault({})
    .describe('The Jobs that bring schemas and streams up to date and declare objects.'),
  metrics: z
    .strictObject({
      serviceMonitor: z.boolean().default(false).describe('Have the Prometheus operator read metrics.'),
      rules: z.boolean().default(false).describe('Alerts, as a PrometheusRule.'),
      dashboards: z.boolean().default(false).describe('Dashboards, as ConfigMaps that Grafana finds by label.'),
      labels: texts.default({}).describe('Labels by which Prometheus and Grafana choose.'),
      interval: z.string().default('30s').describe('How often metrics are read.'),
    })
    .prefault({})
    .describe('Watching Pawl.'),
  global: anyObject.default({}).describe('Not used: charts that include this one may set it.'),
});
