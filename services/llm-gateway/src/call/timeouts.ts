/** The time limits of a route's calls, with defaults for those that it doesn't set. Pure. */
import { durationMs, type ModelRouteSpec } from '@pawl/contracts';
import type { Timeouts } from '../providers/call-clock.ts';

const timeoutDefaults = { connect: '5s', headers: '60s', firstToken: '60s', idle: '30s', total: '300s' } as const;

const known = new WeakMap<ModelRouteSpec, Timeouts>();

export function timeoutsOf(spec: ModelRouteSpec): Timeouts {
  const timeouts = known.get(spec) ?? readTimeouts(spec.timeouts);
  known.set(spec, timeouts);
  return timeouts;
}

function readTimeouts(timeouts: ModelRouteSpec['timeouts']): Timeouts {
  const limit = (phase: keyof typeof timeoutDefaults) => durationMs(timeouts?.[phase] ?? timeoutDefaults[phase]);
  return {
    connectMs: limit('connect'),
    headersMs: limit('headers'),
    firstTokenMs: limit('firstToken'),
    idleMs: limit('idle'),
    totalMs: limit('total'),
  };
}
