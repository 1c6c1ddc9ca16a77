/**
 * What each service may do on NATS, and no more: one user per service, so that whoever gets hold of one can't write the words
 * of another. Deployments are generated from here. A subject that a service uses and that is not here is refused by the server.
 */
import { allStreams, buckets, keyValueStream, objectStream, streams, streamSubjects, subjects } from './subjects.ts';

/** Subject patterns that a user may publish to and subscribe to; everything else is refused. */
export type NatsPermissions = { publish: string[]; subscribe: string[] };

const every = '*';
const factsOfSlot = (slot: string) => subjects.factsOfRun(every, every).replace(/>$/, slot);
const stops = ['cancel', 'ended'].map(factsOfSlot);

const { registry, definitions, keys, leases, settings, claims, results } = buckets;
/** Looking at a stream, and making it where it is missing: any service brings back what a server has lost. */
const layout = [
  '$JS.API.INFO',
  ...allStreams.flatMap((stream) => [`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.CREATE.${stream}`]),
];
const get = (stream: string) => [
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
  `$JS.API.STREAM.MSG.GET.${stream}`,
];
const consume = (stream: string) => [
  ...['CREATE', 'DURABLE.CREATE', 'INFO', 'MSG.NEXT', 'DELETE'].map((verb) => `$JS.API.CONSUMER.${verb}.${stream}.>`),
  `$JS.ACK.${stream}.>`,
];
/** Telling how long the queues of a stream are, and how old their oldest piece of work is. */
const measure = (stream: string) => [`$JS.API.CONSUMER.LIST.${stream}`, ...get(stream)];
const purge = (stream: string) => `$JS.API.STREAM.PURGE.${stream}`;
const put = (bucket: string, key = '>') => `$KV.${bucket}.${key}`;
const declare = (...kinds: string[]) => kinds.map((kind) => put(registry, `*.${kind}.*`));
/** Removing one message whose place is known. */
const remove = (stream: string) => `$JS.API.STREAM.MSG.DELETE.${stream}`;
const objectStore = (bucket: string) => [
  ...get(objectStream(bucket)),
  ...consume(objectStream(bucket)),
  purge(objectStream(bucket)),
  `$O.${bucket}.>`,
];

/** What every service does: it reads what is declared, keys and settings, and bodies that were too large for a message. */
const everyone = [
  ...layout,
  ...get(keyValueStream(settings)),
  ...[registry, keys].map(keyValueStream).flatMap(consume),
  ...objectStore(claims),
];

const services = {
  orchestrator: {
    publish: [
      streamSubjects.RUNS,
      streamSubjects.THINK,
      streamSubjects.ACT,
      ...consume(streams.runs),
      ...[streams.runs, streams.think, streams.act].flatMap(get),
      ...[definitions, leases].map(keyValueStream).flatMap(get),
      ...[definitions, leases].map((bucket) => put(bucket)),
      // Whole answers of sub-runs.
      ...get(objectStream(results)),
      purge(objectStream(results)),
      remove(objectStream(results)),
      `$O.${results}.>`,
      ...declare('agents'),
      put(settings, 'partitions'),
      ...consume(keyValueStream(settings)),
      purge(keyValueStream(leases)),
    ],
    subscribe: [subjects.deltasOfRun(every, every)],
  },
  'llm-gateway': {
    publish: [
      factsOfSlot('thought.*'),
      subjects.delta(every, every, 0).replace(/0$/, every),
      subjects.budgetReached(every, every),
      subjects.gatewayHint('*'),
      subjects.forgotten('llm-gateway'),
      streamSubjects.GATEWAY_CHARGES,
      ...[streams.think, streams.charges, keyValueStream(settings)].flatMap(consume),
      ...measure(streams.think),
      ...declare('routes', 'budgets'),
      put(keys),
    ],
    subscribe: [subjects.gatewayHint('*'), subjects.forget('llm-gateway'), ...stops],
  },
  'tool-runner': {
    publish: [
      factsOfSlot('observed.*.*'),
      ...consume(streams.act),
      ...measure(streams.act),
      ...consume(streams.runs),
      ...get(streams.runs),
      ...get(keyValueStream(definitions)),
      ...objectStore(results),
      remove(objectStream(results)),
      ...declare('tools', 'data-sources', 'mcp-servers'),
      put(settings, 'tools_changed.*.*'),
      subjects.toolCancelled('>'),
    ],
    subscribe: stops,
  },
  'trace-store': {
    publish: [
      ...consume(streams.runs),
      ...[streams.think, streams.act].flatMap(measure),
      ...objectStore(results),
      ...get(streams.runs),
      remove(streams.runs),
      ...[streams.runs, streams.think, streams.act].map(purge),
      put(settings, 'traces_stored'),
      put(settings, 'redaction.*'),
      subjects.recordsStored(every, every),
      subjects.forget('llm-gateway'),
    ],
    subscribe: [subjects.recordsStored(every, every), subjects.forgotten('llm-gateway')],
  },
} satisfies Record<string, NatsPermissions>;

/** Makes streams and queues before the services start. */
const setup: NatsPermissions = {
  publish: [
    ...layout,
    ...allStreams.map((stream) => `$JS.API.STREAM.UPDATE.${stream}`),
    ...get(keyValueStream(settings)),
    put(settings, 'partitions'),
    ...[streams.think, streams.act].flatMap(consume),
  ],
  subscribe: [],
};

export type NatsUser = keyof typeof services | 'setup';

/**
 * By user. Each hears answers in its own inbox only, `_INBOX.pawl-<user>.`, with `pawl-<user>` as its name on the server.
 * Subjects of tools of kind `nats` are for the tool-runner to publish to, in addition: they are a deployment's own.
 */
export function natsPermissions(): Record<NatsUser, NatsPermissions> {
  const all = { ...services, setup };
  return Object.fromEntries(
    Object.entries(all).map(([user, { publish, subscribe }]) => [
      user,
      {
        publish: [...new Set([...publish, ...(user === 'setup' ? [] : everyone)])].toSorted(),
        subscribe: [...subscribe, `_INBOX.pawl-${user}.>`].toSorted(),
      },
    ]),
  ) as Record<NatsUser, NatsPermissions>;
}
