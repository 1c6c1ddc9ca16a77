/**
 * Names and ids that travel in subjects, KV keys and URLs.
 * Every one is a single safe token there: no dots, spaces, wildcards or control characters.
 */
import { z } from 'zod';

/** An app, agent, route, budget, server or data source: lower case, digits, `-` and `_`, up to 63 characters. */
export const objectNameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    'must be 1-63 characters of a-z, 0-9, "-" or "_", starting with a letter or digit',
  );

/** A tool: what every model provider takes as a function name, 1-64 characters of `A-Z a-z 0-9 _ -`. */
export const toolNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1-64 characters of A-Z, a-z, 0-9, "_" or "-"');

/** A run's id: `run_` and 32 hex digits (a UUID version 7, so ids sort by time). */
export const runIdSchema = z.string().regex(/^run_[0-9a-f]{32}$/, 'must look like run_ and 32 hex digits');

/** The id of a signal, unique within its run and a single token of its slot. */
export const signalIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1-64 characters of A-Z, a-z, 0-9, "_" or "-"');

/** SHA-256 as 64 lower-case hex digits. */
export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');

/** A time as ISO 8601 in UTC, as `Date.prototype.toISOString` gives it; the fraction of the second may be missing. */
export const isoTimeSchema = z.iso.datetime({ precision: null });

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const durationTextSchema = z.string().regex(/^[1-9]\d{0,8}(ms|s|m|h|d)$/, {
  error: 'must be a whole number and ms, s, m, h or d, for example 120s',
  // The checks that follow need a duration.
  abort: true,
});

/** A length of time in text: a whole number and `ms`, `s`, `m`, `h` or `d`, for example `120s`; up to 3650 days. */
export const durationSchema = durationTextSchema.refine(isUpTo('3650d'), 'must be at most 3650d');

/** A duration that one timer can hold: up to 24 days. Node fires longer timers at once. */
export const timeoutSchema = durationTextSchema.refine(isUpTo('24d'), 'must be at most 24d');

function isUpTo(longest: string): (text: string) => boolean {
  return (text) => durationMs(text) <= durationMs(longest);
}

/** Milliseconds of a duration text such as `120s`. Throws TypeError on other text. */
export function durationMs(text: string): number {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  if (!match) throw new TypeError(`not a duration: ${text}`);
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs];
}

/** JSON text, kept as text so that numbers beyond 2^53 and key order travel unchanged. */
export const jsonTextSchema = z.string().refine(isJson, 'must be JSON text');

/** Whether a text parses as JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
