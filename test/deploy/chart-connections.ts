/** Which pods network policies let talk to which, on which ports: what both ends allow. */
import { podsOf, type Rendered } from './chart-tools.ts';

type Labels = Record<string, string>;
type Peer = { podSelector?: { matchLabels?: Labels }; namespaceSelector?: object; ipBlock?: object };
type Rule = { ports?: { port: number | string; protocol: string }[]; from?: Peer[]; to?: Peer[] };
type Policy = { selector: Labels; ingress: Rule[]; egress: Rule[] };
type Connection = { from: Pod; to: Pod; port: number };
type Pod = { component: string; labels: Labels; ports: Map<string, number> };

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
