/** Which pods network policies let talk to which, on which ports: what both ends allow. */
import { BlockList } from 'node:net';
import { podsOf, type Rendered } from './chart-tools.ts';

type Labels = Record<string, string>;
type IpBlock = { cidr: string; except?: string[] };
type Peer = { podSelector?: { matchLabels?: Labels }; namespaceSelector?: object; ipBlock?: IpBlock };
type Rule = { ports?: { port: number | string; protocol: string }[]; from?: Peer[]; to?: Peer[] };
type Policy = { selector: Labels; ingress: Rule[]; egress: Rule[] };
type Connection = { from: Pod; to: Pod; port: number };
type Pod = { component: string; labels: Labels; ports: Map<string, number> };

/** Something outside of the release: an address of IPv4, or else a pod of another namespace, by its labels. */
export type Destination = { port: number; address?: string; pod?: Labels };

/** Whether the policies let the pods of a component go there. Selectors of namespaces are taken to select the one in question. */
export function allowsOutside(objects: readonly Rendered[], component: string, { port, ...to }: Destination): boolean {
  const own = objects.filter(
    ({ kind, spec }) =>
      kind === 'NetworkPolicy' && spec.podSelector.matchLabels['app.kubernetes.io/component'] === component,
  );
  return own.some(({ spec }) =>
    ((spec.egress ?? []) as Rule[]).some(
      (rule) =>
        (rule.ports === undefined || rule.ports.some((each) => each.port === port)) &&
        (rule.to === undefined || rule.to.some((peer) => isOutside(peer, to))),
    ),
  );
}

function isOutside(peer: Peer, { address, pod }: Pick<Destination, 'address' | 'pod'>): boolean {
  if (address !== undefined) return peer.ipBlock !== undefined && isWithin(peer.ipBlock, address);
  const labels = peer.podSelector?.matchLabels ?? {};
  return peer.namespaceSelector !== undefined && Object.entries(labels).every(([key, value]) => pod?.[key] === value);
}

function isWithin({ cidr, except = [] }: IpBlock, address: string): boolean {
  const isIn = (range: string) => {
    const [start = '', prefix] = range.split('/');
    if (start.includes(':')) return false;
    const list = new BlockList();
    list.addSubnet(start, Number(prefix), 'ipv4');
    return list.check(address, 'ipv4');
  };
  return isIn(cidr) && !except.some(isIn);
}

/** `from → to:port` for each pair of pods of the release; a pod that no policy selects may do everything. */
export function allowedConnections(objects: readonly Rendered[]): string[] {
  const policies = objects
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ spec }): Policy => {
      const {
        podSelector,
        ingress = [],
        egress = [],
      } = spec as {
        podSelector: { matchLabels: Labels };
        ingress?: Rule[];
        egress?: Rule[];
      };
      return { selector: podSelector.matchLabels, ingress, egress };
    });
  const pods = podsOf(objects).map(({ metadata, spec }): Pod => {
    const { labels } = metadata as { labels: Labels };
    const containers = spec.containers as { ports?: { name: string; containerPort: number }[] }[];
    const ports = containers.flatMap((container) => container.ports ?? []);
    return {
      component: labels['app.kubernetes.io/component'] ?? '',
      labels,
      ports: new Map(ports.map(({ name, containerPort }) => [name, containerPort])),
    };
  });
  return pods.flatMap((from) =>
    pods.flatMap((to) =>
      [...to.ports.values()]
        .filter(
          (port) => from !== to && mayLeave(policies, { from, to, port }) && mayEnter(policies, { from, to, port }),
        )
        .map((port) => `${from.component} → ${to.component}:${port}`),
    ),
  );
}

function mayLeave(policies: Policy[], { from, to, port }: Connection): boolean {
  const own = policies.filter(({ selector }) => isSelected(selector, from));
  return (
    own.length === 0 || own.some(({ egress }) => egress.some((rule) => allows(rule, rule.to, { other: to, to, port })))
  );
}

function mayEnter(policies: Policy[], { from, to, port }: Connection): boolean {
  const own = policies.filter(({ selector }) => isSelected(selector, to));
  return (
    own.length === 0 ||
    own.some(({ ingress }) => ingress.some((rule) => allows(rule, rule.from, { other: from, to, port })))
  );
}

/** Addresses of pods are private, so an `ipBlock` of the internet doesn't reach them. */
function allows(rule: Rule, peers: Peer[] | undefined, of: { other: Pod; to: Pod; port: number }): boolean {
  const isPeer = peers === undefined || peers.some((peer) => isThis(peer, of.other));
  const isPort =
    rule.ports === undefined ||
    rule.ports.some(({ port }) => (typeof port === 'string' ? of.to.ports.get(port) : port) === of.port);
  return isPeer && isPort;
}

function isThis(peer: Peer, pod: Pod): boolean {
  if (peer.ipBlock !== undefined || peer.namespaceSelector !== undefined) return false;
  return isSelected(peer.podSelector?.matchLabels ?? {}, pod);
}

function isSelected(selector: Labels, pod: Pod): boolean {
  return Object.entries(selector).every(([key, value]) => pod.labels[key] === value);
}
