/** How long to wait before asking a provider again. Pure: time and chance come in. */

const backoffBaseMs = 250;
const backoffMaxMs = 8_000;
/** A provider that wants a longer pause is not waited for. */
const retryAfterMaxMs = 30_000;

/**
 * The pause that a response asks for, in milliseconds: `retry-after-ms`, else `retry-after` as seconds or as an HTTP date.
 * Undefined when neither is there or makes sense.
 */
export function parseRetryAfterMs(
  headers: { get(name: string): string | null } | undefined,
  nowMs: number,
): number | undefined {
  const inMs = numberOf(headers?.get('retry-after-ms'));
  if (inMs !== undefined) return inMs;
  const text = headers?.get('retry-after');
  const inSeconds = numberOf(text);
  if (inSeconds !== undefined) return inSeconds * 1_000;
  const atMs = text && /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/**
 * The pause before try number `attempt` (from 1), or undefined when trying again makes no sense within `leftMs`.
 * With a wish of the provider: at least that and up to a quarter more; else exponential with full jitter.
 */
export function retryDelayMs(of: {
  attempt: number;
  retryAfterMs: number | undefined;
  leftMs: number;
  /** From 0 to 1. */
  chance: number;
}): number | undefined {
  if (of.retryAfterMs !== undefined && of.retryAfterMs > retryAfterMaxMs) return undefined;
  const ceilingMs = Math.min(backoffMaxMs, backoffBaseMs * 2 ** (of.attempt - 1));
  const delayMs = of.retryAfterMs === undefined ? of.chance * ceilingMs : of.retryAfterMs * (1 + of.chance / 4);
  return delayMs < of.leftMs ? Math.round(delayMs) : undefined;
}

function numberOf(text: string | null | undefined): number | undefined {
  return text && /^\s*\d{1,12}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
