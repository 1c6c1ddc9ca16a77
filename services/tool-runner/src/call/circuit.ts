/**
 * Lets an upstream rest that fails again and again: after a number of failures in a row its calls are answered at once for a while,
 * then one is let through to see. Pure: time comes in, of a clock that is never set.
 */
import type { Tool } from '@pawl/contracts';
import type { Outcome } from './outcome.ts';

export type Circuits = {
  /** Whether a call may go out now. The one that tries after a rest has to be told with `tell`. */
  mayCall(upstream: string, nowMs: number): boolean;
  tell(upstream: string, outcome: Outcome, nowMs: number): void;
};

type Circuit = { failures: number; restsUntilMs: number; isTrying: boolean };

const failuresMax = 5;
const restMs = 10_000;
const upstreamsMax = 10_000;

export function createCircuits(): Circuits {
  const circuits = new Map<string, Circuit>();
  return {
    mayCall(upstream, nowMs) {
      const circuit = circuits.get(upstream);
      if (!circuit || circuit.failures < failuresMax) return true;
      if (nowMs < circuit.restsUntilMs || circuit.isTrying) return false;
      circuit.isTrying = true;
      return true;
    },
    tell(upstream, outcome, nowMs) {
      const verdict = verdictOf(outcome);
      const circuit = circuits.get(upstream);
      if (verdict === 'answered') {
        circuits.delete(upstream);
      } else if (verdict === 'unknown') {
        if (circuit) circuit.isTrying = false;
      } else {
        if (circuits.size >= upstreamsMax) circuits.clear();
        circuits.set(upstream, {
          failures: (circuit?.failures ?? 0) + 1,
          restsUntilMs: nowMs + restMs,
          isTrying: false,
        });
      }
    },
  };
}

/** Only what says that the upstream itself is in trouble counts against it; a cancelled call says nothing. */
function verdictOf(outcome: Outcome): 'answered' | 'failed' | 'unknown' {
  if (outcome.kind !== 'failure') return 'answered';
  if (outcome.code === 'tool_unreachable' || outcome.code === 'tool_timeout') return 'failed';
  if (outcome.code === 'tool_failed') return outcome.isTransient ? 'failed' : 'answered';
  return 'unknown';
}

/** What a tool talks to, shared by all tools of an app that talk to the same; undefined for what is in this process. */
export function upstreamOf({ metadata, spec }: Tool): string | undefined {
  const place = spec.http
    ? URL.parse(spec.http.url.replaceAll(/\{[^{}]*\}/g, 'x'))?.origin
    : spec.mcp
      ? `mcp:${spec.mcp.server}`
      : spec.sql
        ? `sql:${spec.sql.source}`
        : spec.nats && `nats:${spec.nats.subject}`;
  return place === undefined ? undefined : `${metadata.app} ${place}`;
}
