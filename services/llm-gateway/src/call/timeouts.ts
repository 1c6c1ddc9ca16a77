/** The time limits of a route's calls, with defaults for those that it doesn't set. Pure. */
import { durationMs, type ModelRouteSpec } from '@pawl/contracts';
import type { Timeouts } from '../providers/call-clock.ts';

const timeoutDefaults = { connect: '5s', headers: '60s', firstToken: '60s', idle: '30s', total: '300s' } as const;

export function timeoutsOf(timeouts: ModelRouteSpec['timeouts']): Timeouts {
  const limit = (phase: keyof typeof timeoutDefaults) => durationMs(timeouts?.[phase] ?? timeoutDefaults[phase]);
  return {
    connectMs: limit('connect'),
    headersMs: limit('headers'),
    firstTokenMs: limit('firstToken'),
    idleMs: limit('idle'),
    totalMs: limit('total'),
  };
}
