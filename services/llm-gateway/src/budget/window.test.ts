import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTimeZone, windowAt } from './window.ts';

const iso = (window: { fromMs: number; toMs: number | null }) => [
  new Date(window.fromMs).toISOString(),
  window.toMs === null ? null : new Date(window.toMs).toISOString(),
];

describe('M19: windows', () => {
  it('follow the clock changes of New York: a day of 23 hours, a day of 25', () => {
    const day = (at: string) => iso(windowAt('day', 'America/New_York', Date.parse(at)));
    expect(day('2026-03-08T12:00:00Z')).toEqual(['2026-03-08T05:00:00.000Z', '2026-03-09T04:00:00.000Z']);
    expect(day('2026-11-01T12:00:00Z')).toEqual(['2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z']);
  });

  it('end a month at midnight in Tokyo', () => {
    const month = (at: string) => iso(windowAt('month', 'Asia/Tokyo', Date.parse(at)));
    expect(month('2026-02-28T14:59:59.999Z')).toEqual(['2026-01-31T15:00:00.000Z', '2026-02-28T15:00:00.000Z']);
    expect(month('2026-02-28T15:00:00.000Z')).toEqual(['2026-02-28T15:00:00.000Z', '2026-03-31T15:00:00.000Z']);
  });

  it('begin a week on Monday, and a total never ends', () => {
    expect(iso(windowAt('week', 'UTC', Date.parse('2026-11-29T23:00:00Z')))).toEqual([
      '2026-11-23T00:00:00.000Z',
      '2026-11-30T00:00:00.000Z',
    ]);
    expect(windowAt('total', 'UTC', 5)).toEqual({ fromMs: 0, toMs: null });
  });

  it('begin after a skipped midnight where clocks skip it', () => {
    expect(iso(windowAt('day', 'America/Santiago', Date.parse('2026-09-06T12:00:00Z')))[0]).toBe(
      '2026-09-06T04:00:00.000Z',
    );
  });

  it('hold their moment and touch the next window, in every zone', () => {
    const zones = fc.constantFrom(
      'UTC',
      'America/New_York',
      'Asia/Tokyo',
      'America/Sao_Paulo',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
    );
    const moments = fc.integer({ min: Date.parse('2020-01-01'), max: Date.parse('2035-01-01') });
    fc.assert(
      fc.property(fc.constantFrom('day', 'week', 'month'), zones, moments, (kind, zone, atMs) => {
        const { fromMs, toMs } = windowAt(kind, zone, atMs);
        expect(fromMs <= atMs && atMs < (toMs ?? 0)).toBe(true);
        expect(windowAt(kind, zone, toMs ?? 0).fromMs).toBe(toMs);
      }),
    );
  });

  it('of a minute touch each other', () => {
    const { fromMs, toMs } = windowAt('minute', 'Asia/Kathmandu', Date.parse('2026-02-28T14:59:59.999Z'));
    expect([fromMs, toMs]).toEqual([Date.parse('2026-02-28T14:59:00Z'), Date.parse('2026-02-28T15:00:00Z')]);
  });

  it('know zones', () => {
    expect(isTimeZone('Asia/Shanghai')).toBe(true);
    expect(isTimeZone('Mars/Olympus')).toBe(false);
  });
});
