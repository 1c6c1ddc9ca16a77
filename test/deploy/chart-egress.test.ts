/** What services have to reach outside of the release, by what they are configured with: network policies let them, and no further. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { allowsOutside, type Destination } from './chart-connections.ts';
import { containersOfPod, plainEnv, useRenderings } from './chart-renderings.ts';
import { leastValues, render, type Rendered } from './chart-tools.ts';

// Programs are started one after the other, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const renderings = useRenderings();
const all = ['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store'];
const publicAddress = '93.184.216.34';
const inside = (app: string) => ({ app });
/** Egress rules to pods of another namespace. */
const rulesTo = (app: string, port: number) => [
  { ports: [{ port, protocol: 'TCP' }], to: [{ namespaceSelector: {}, podSelector: { matchLabels: { app } } }] },
];

/** Services that may go there. */
const whoReaches = (objects: readonly Rendered[], destination: Destination) =>
  all.filter((service) => allowsOutside(objects, service, destination));

describe('the issuer of tokens', () => {
  let objects: Rendered[];
  const issuer = 'https://issuer.example.com:8443/realms/pawl';
  beforeEach(async () => {
    objects = await render(renderings.helm, {
      values: {
        ...leastValues,
        'config.PAWL_OIDC_ISSUER': issuer,
        'config.PAWL_OIDC_JWKS_URL': 'https://keys.example.com/keys',
        'networkPolicy.issuer': rulesTo('keycloak', 8080),
      },
    });
  });

  test('is named to every service, and may be reached by every service, out in the world and inside of the cluster', () => {
    for (const service of all) {
      const env = plainEnv(containersOfPod(objects, `pawl-${service}`)[0]);
      expect([service, env['PAWL_OIDC_ISSUER']]).toEqual([service, issuer]);
    }
    expect(whoReaches(objects, { address: publicAddress, port: 8443 })).toEqual(all);
    expect(whoReaches(objects, { address: publicAddress, port: 443 })).toEqual(all);
    expect(whoReaches(objects, { pod: inside('keycloak'), port: 8080 })).toEqual(all);
  });

  test('opens nothing else', async () => {
    expect(whoReaches(objects, { address: publicAddress, port: 22 })).toEqual([]);
    for (const address of ['10.1.2.3', '169.254.169.254', '192.168.1.1', '172.20.0.1']) {
      expect([address, whoReaches(objects, { address, port: 8443 })]).toEqual([address, []]);
    }
    expect(whoReaches(objects, { pod: inside('other'), port: 8080 })).toEqual([]);
    const without = await render(renderings.helm, { values: leastValues });
    expect(whoReaches(without, { address: publicAddress, port: 443 })).toEqual(all.slice(0, 3));
    expect(whoReaches(without, { address: publicAddress, port: 8443 })).toEqual([]);
  });

  test('of one service alone opens the way of that service', async () => {
    const values = { ...leastValues, 'traceStore.config.PAWL_OIDC_ISSUER': issuer };
    const one = await render(renderings.helm, { values });
    expect(whoReaches(one, { address: publicAddress, port: 8443 })).toEqual(['trace-store']);
  });
});

test.for([
  ['http://collector:4318', 4318],
  ['http://collector:4317', 4317],
  ['https://collector.example.com:443/otlp', 443],
] as const)('the collector at %s is reached by every service', async ([endpoint, port]) => {
  const collector = [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'collector' } } }];
  const values = { ...leastValues, 'telemetry.otlpEndpoint': endpoint, 'networkPolicy.collector': collector };
  const objects = await render(renderings.helm, { values });
  expect(whoReaches(objects, { pod: inside('collector'), port })).toEqual(all);
  expect(whoReaches(objects, { pod: inside('other'), port })).toEqual([]);
});

test('receivers of webhooks, models and tools inside of the cluster are reached by the one service that calls them', async () => {
  const values = {
    ...leastValues,
    'networkPolicy.webhooks': rulesTo('hooks', 8081),
    'networkPolicy.models': rulesTo('models', 8082),
    'networkPolicy.tools': rulesTo('tools', 8083),
  };
  const objects = await render(renderings.helm, { values });
  expect(whoReaches(objects, { pod: inside('hooks'), port: 8081 })).toEqual(['orchestrator']);
  expect(whoReaches(objects, { pod: inside('models'), port: 8082 })).toEqual(['llm-gateway']);
  expect(whoReaches(objects, { pod: inside('tools'), port: 8083 })).toEqual(['tool-runner']);
  expect(whoReaches(objects, { address: publicAddress, port: 443 })).toEqual(all.slice(0, 3));
});
