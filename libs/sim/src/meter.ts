/**
 * The stand-in's own meter: what a provider would put on its bill. Tests compare it with the books of the gateway.
 *
 * The list is bounded; what falls out of it stays in the totals.
 */
import type { SimUsage } from './completion/completion.ts';

const ENTRIES_MAX = 10_000;

/** One finished request. A stream that the client left is `aborted` and still has the usage it would have had. */
export interface SimRequest {
  model: string;
  isStream: boolean;
  outcome: 'completed' | 'aborted' | 'failed';
  /** Id of the response; absent when the request failed before there was one. */
  responseId?: string;
  /** Code of the error when `failed`. */
  code?: string;
  usage: SimUsage;
}

export interface Meter {
  add(request: SimRequest): void;
  /** The latest finished requests, oldest first, at most 10,000. */
  requests(): SimRequest[];
  /** Number of finished requests since the start, also those no longer listed. */
  count(): number;
}

export function createMeter(): Meter {
  const entries: SimRequest[] = [];
  let count = 0;
  return {
    add(request) {
      count += 1;
      entries.push(request);
      if (entries.length > ENTRIES_MAX) entries.shift();
    },
    requests: () => [...entries],
    count: () => count,
  };
}
