/** How the rendered parts find each other, and who may: selectors, ports, paths from outside, scalers, network policies. K11, K13. */
import { lanes, pageAddresses, services } from '@pawl/contracts';
import { describe, expect, test, vi } from 'vitest';
import { allowedConnections } from './chart-connections.ts';
import { bundled, containersOfPod, matches, ofKind, plainEnv, useRenderings } from './chart-renderings.ts';
import { leastValues, podsOf, render } from './chart-tools.ts';

// Programs are started one after the other, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const renderings = useRenderings();

test('every selector finds pods, and every autoscaler what it scales', () => {
  for (const objects of renderings.all()) {
    const labels = podsOf(objects).map((pod) => pod.metadata.labels);
    for (const { kind, metadata, spec } of objects) {
      const selector = spec?.selector?.matchLabels ?? spec?.podSelector?.matchLabels;
      if (!['Deployment', 'StatefulSet', 'PodDisruptionBudget', 'NetworkPolicy'].includes(kind)) continue;
      const isOptional = metadata.name === 'pawl-apply';
      const found = labels.filter((each) => matches(selector, each)).length;
      expect([kind, metadata.name, found > 0 || isOptional]).toEqual([kind, metadata.name, true]);
    }
    for (const { spec } of [...ofKind(objects, 'HorizontalPodAutoscaler'), ...ofKind(objects, 'ScaledObject')]) {
      expect(ofKind(objects, 'Deployment').map(({ metadata }) => metadata.name)).toContain(spec.scaleTargetRef.name);
    }
  }
});

test('K13: scalers watch exactly the queues that the setup Job makes', () => {
  const objects = renderings.of('bundled');
  const setup = containersOfPod(objects, '-setup-').at(-1);
  const { PAWL_APPS: apps = '', PAWL_POOLS: pools = '' } = plainEnv(setup);
  const made = apps
    .split(',')
    .flatMap((app) => [
      ...lanes.map((lane) => `THINK think-${lane}-${app}`),
      ...pools.split(',').map((pool) => `ACT act-${pool}-${app}`),
    ]);
  const watched = ofKind(objects, 'ScaledObject').flatMap(({ spec }) =>
    (spec.triggers as { metadata: { stream: string; consumer: string } }[]).map(
      ({ metadata }) => `${metadata.stream} ${metadata.consumer}`,
    ),
  );
  expect(watched).toHaveLength(8);
  expect(watched.toSorted(byText)).toEqual(made.toSorted(byText));
});

test('every path of a service and every address of the page lead in from outside, metrics do not', async () => {
  const values = {
    ...leastValues,
    host: 'a.b',
    'ingress.enabled': true,
    'gateway.enabled': true,
    'gateway.parentRefs': [{}],
  };
  const objects = await render(renderings.helm, { values });
  type Path = { path: string; pathType: string; backend: { service: { name: string } } };
  const [ingress] = ofKind(objects, 'Ingress');
  const byIngress = ((ingress?.spec.rules[0].http.paths ?? []) as Path[]).map(({ path, pathType, backend }) => ({
    path,
    isExact: pathType === 'Exact',
    name: backend.service.name,
  }));
  const [route] = ofKind(objects, 'HTTPRoute');
  type Rule = { matches: { path: { type: string; value: string } }[]; backendRefs: { name: string }[] };
  const byRoute = ((route?.spec.rules ?? []) as Rule[]).flatMap(({ matches: accepted, backendRefs }) =>
    accepted.map(({ path }) => ({ path: path.value, isExact: path.type === 'Exact', name: backendRefs[0]?.name })),
  );
  /** As both do it: whole words of a path, the longest first. */
  const targetOf = (rules: typeof byRoute, path: string) =>
    rules
      .filter((rule) => path === rule.path || (!rule.isExact && path.startsWith(`${rule.path}/`)))
      .toSorted((a, b) => b.path.length - a.path.length)[0]?.name;
  for (const rules of [byIngress, byRoute]) {
    for (const { name, paths } of services) {
      for (const path of paths) {
        expect([path, targetOf(rules, path), targetOf(rules, `${path}/x/y`)]).toEqual([
          path,
          `pawl-${name}`,
          `pawl-${name}`,
        ]);
      }
    }
    for (const address of [...pageAddresses, '/page/assets/x.js', '/healthz/ready']) {
      expect([address, targetOf(rules, address)]).toEqual([address, 'pawl-trace-store']);
    }
    for (const inner of ['/metrics', '/healthz/live', '/openapi.json', '/healthz/ready/x']) {
      expect([inner, targetOf(rules, inner)]).toEqual([inner, undefined]);
    }
  }
});

describe('connections', () => {
  const toServers = ['orchestrator', 'llm-gateway', 'tool-runner', 'trace-store', 'setup'].flatMap((from) => [
    `${from} → nats:4222`,
    `${from} → postgres:5432`,
  ]);
  const arrows = [
    ...toServers,
    'llm-gateway → orchestrator:7301',
    'apply → orchestrator:7301',
    'apply → tool-runner:7302',
    'apply → llm-gateway:7303',
    'test → orchestrator:7301',
    'test → tool-runner:7302',
    'test → llm-gateway:7303',
    'test → trace-store:7304',
  ];

  test.for([
    ['with clients named', { 'networkPolicy.clients': [{ podSelector: { matchLabels: { app: 'ingress' } } }] }],
    ['with any client', {}],
  ] as const)('between pods are exactly the arrows of the picture, %s', async ([, values]) => {
    const objects = await render(renderings.helm, { values: { ...bundled, ...values } });
    expect(allowedConnections(objects).toSorted(byText)).toEqual(arrows.toSorted(byText));
  });

  test('to the outside are those to models, tools, webhooks and names, none of them to private addresses', () => {
    for (const { metadata, spec } of ofKind(renderings.of('bundled'), 'NetworkPolicy')) {
      expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
      type Egress = { ports: { port: number }[]; to?: { ipBlock?: { cidr: string; except: string[] } }[] };
      const open = (spec.egress ?? []) as Egress[];
      const toInternet = open.filter(({ to }) => to?.some(({ ipBlock }) => ipBlock !== undefined));
      const isMeant = /-(orchestrator|llm-gateway|tool-runner)$/.test(metadata.name);
      expect([metadata.name, toInternet.length]).toEqual([metadata.name, isMeant ? 1 : 0]);
      for (const { to } of toInternet) {
        const [block] = (to ?? []).map(({ ipBlock }) => ipBlock);
        expect(block?.except).toEqual(expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '192.168.0.0/16']));
      }
      const toAnywhere = open.filter(({ to }) => to === undefined);
      const ports = toAnywhere.flatMap((rule) => rule.ports.map(({ port }) => port));
      expect(ports.filter((port) => port !== 4318)).toEqual([]);
    }
  });
});

function byText(a: string | (string | undefined)[], b: string | (string | undefined)[]): number {
  return String(a) < String(b) ? -1 : 1;
}
