/** Span ids: random, except for the one span that is started inside `idsForNextSpan`. */
import { randomHex } from './random-hex.ts';

type Ids = { traceId: string; spanId: string };
let next: Ids | undefined;

/** Calls `start`, during which the SDK takes the given ids instead of random ones. */
export function idsForNextSpan<T>(ids: Ids, start: () => T): T {
  next = ids;
  try {
    return start();
  } finally {
    next = undefined;
  }
}

/** What the tracer provider asks for ids. */
export const idGenerator = {
  generateTraceId: () => next?.traceId ?? randomHex(16),
  generateSpanId: () => next?.spanId ?? randomHex(8),
};
