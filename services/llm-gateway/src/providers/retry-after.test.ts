import { describe, expect, it } from 'vitest';
import { parseRetryAfterMs, retryDelayMs } from './retry-after.ts';

const nowMs = Date.parse('2026-11-30T10:00:00Z');
const parse = (headers: Record<string, string>) => parseRetryAfterMs(new Headers(headers), nowMs);

describe('M15: the wish of a provider', () => {
  it.each([
    [{ 'retry-after': '2' }, 2_000],
    [{ 'retry-after': 'Mon, 30 Nov 2026 10:00:05 GMT' }, 5_000],
    [{ 'retry-after': 'Mon, 30 Nov 2026 09:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': '3600' }, 3_600_000],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('%j is %s ms', (headers, expected) => expect(parse(headers as Record<string, string>)).toBe(expected));
});

describe('the pause before the next try', () => {
  const of = { attempt: 1, retryAfterMs: undefined, leftMs: 60_000, chance: 1 };

  it('is at least what was asked for, spread over a quarter more', () => {
    expect(retryDelayMs({ ...of, retryAfterMs: 1_000, chance: 0 })).toBe(1_000);
    expect(retryDelayMs({ ...of, retryAfterMs: 1_000 })).toBe(1_250);
  });

  it('grows by itself, with full jitter, up to a ceiling', () => {
    expect([1, 2, 3, 20].map((attempt) => retryDelayMs({ ...of, attempt }))).toEqual([250, 500, 1_000, 8_000]);
    expect(retryDelayMs({ ...of, chance: 0 })).toBe(0);
  });

  it('is not waited for when it is too long, or longer than the run has', () => {
    expect(retryDelayMs({ ...of, retryAfterMs: 3_600_000, leftMs: 9_000_000 })).toBeUndefined();
    expect(retryDelayMs({ ...of, retryAfterMs: 2_000, leftMs: 1_000 })).toBeUndefined();
  });
});
