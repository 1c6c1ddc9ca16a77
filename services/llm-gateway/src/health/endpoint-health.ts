/**
 * What the replicas know of each endpoint: its circuit and how fast it answers. Failures, probes and recoveries are told to the
 * others over core NATS, as hints: a lost one costs a few calls, never money. Nothing is kept.
 */
import type { Bus } from '@pawl/bus';
import { sha256, subjects, type Candidate } from '@pawl/contracts';
import { z } from 'zod';
import { afterFailure, afterStart, closedCircuit, isPassable, type Circuit } from './breaker.ts';

const subject = subjects.gatewayHint('health');
const endpointsMax = 5_000;
/** The part of a new measurement in the running mean. */
const newest = 0.2;

export type EndpointHealth = {
  isHealthy(candidate: Candidate): boolean;
  firstTokenMs(candidate: Candidate): number | undefined;
  onStart(candidate: Candidate): void;
  onSuccess(candidate: Candidate, firstTokenMs: number | undefined): void;
  onFailure(candidate: Candidate, retryAfterMs: number | undefined): void;
  close(): void;
};

const noticeSchema = z.object({
  from: z.string(),
  endpoint: z.string(),
  event: z.enum(['failure', 'success', 'start']),
  retryAfterMs: z.number().nonnegative().optional(),
});
type Notice = z.infer<typeof noticeSchema>;

/** `replica` names this process among all. */
export function createEndpointHealth(bus: Bus, replica: string): EndpointHealth {
  const circuits = new Map<string, Circuit>();
  const means = new Map<string, number>();
  const apply = ({ endpoint, event, retryAfterMs }: Omit<Notice, 'from'>) => {
    const circuit = circuits.get(endpoint) ?? closedCircuit;
    const now = Date.now();
    if (event === 'success') circuits.delete(endpoint);
    else
      circuits.set(endpoint, event === 'start' ? afterStart(circuit, now) : afterFailure(circuit, now, retryAfterMs));
    forgetOldest(circuits);
  };
  const subscription = bus.connection.subscribe(subject, {
    callback: (error, message) => {
      const notice = error ? undefined : parseNotice(message.string());
      if (notice && notice.from !== replica) apply(notice);
    },
  });
  const tell = (notice: Omit<Notice, 'from'>) => {
    apply(notice);
    if (!bus.isConnected()) return;
    bus.connection.publish(subject, JSON.stringify({ from: replica, ...notice }));
  };
  return {
    isHealthy: (candidate) => isPassable(circuits.get(keyOf(candidate)) ?? closedCircuit, Date.now()),
    firstTokenMs: (candidate) => means.get(keyOf(candidate)),
    onStart(candidate) {
      const endpoint = keyOf(candidate);
      const circuit = circuits.get(endpoint);
      if (circuit && circuit.openUntilMs > 0) tell({ endpoint, event: 'start' });
    },
    onSuccess(candidate, firstTokenMs) {
      const endpoint = keyOf(candidate);
      if (circuits.has(endpoint)) tell({ endpoint, event: 'success' });
      if (firstTokenMs === undefined) return;
      const mean = means.get(endpoint) ?? firstTokenMs;
      means.set(endpoint, mean + newest * (firstTokenMs - mean));
      forgetOldest(means);
    },
    onFailure(candidate, retryAfterMs) {
      const wish = retryAfterMs === undefined ? {} : { retryAfterMs };
      tell({ endpoint: keyOf(candidate), event: 'failure', ...wish });
    },
    close: () => subscription.unsubscribe(),
  };
}

const keys = new WeakMap<Candidate, string>();

/** An endpoint is one model at one address with one key: limits of providers are per key. */
function keyOf(candidate: Candidate): string {
  const known = keys.get(candidate);
  if (known !== undefined) return known;
  const { provider, baseUrl, model, apiKey } = candidate;
  const key = sha256(JSON.stringify([provider, baseUrl, model, apiKey]));
  keys.set(candidate, key);
  return key;
}

function parseNotice(text: string): Notice | undefined {
  try {
    return noticeSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > endpointsMax && oldest !== undefined) map.delete(oldest);
}
