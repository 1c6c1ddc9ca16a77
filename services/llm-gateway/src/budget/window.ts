/**
 * The window of a budget in which a moment falls, by the calendar of its time zone. Pure: the moment comes in.
 * A day has 23 or 25 hours where clocks change; weeks begin on Monday (ISO 8601).
 */
import { Temporal } from 'temporal-polyfill';

export type WindowKind = 'total' | 'minute' | 'day' | 'week' | 'month';

/** From `fromMs` (inclusive) to `toMs` (exclusive), Unix time in milliseconds. `total` begins at 0 and never ends. */
export type Window = { fromMs: number; toMs: number | null };

/** The window of `kind` that holds `atMs` in an IANA zone. Throws RangeError when the zone is unknown. */
export function windowAt(kind: WindowKind, timeZone: string, atMs: number): Window {
  if (kind === 'total') return { fromMs: 0, toMs: null };
  if (kind === 'minute') {
    const fromMs = Math.floor(atMs / minuteMs) * minuteMs;
    return { fromMs, toMs: fromMs + minuteMs };
  }
  const today = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone).toPlainDate();
  const first = firstDayOf(kind, today);
  return { fromMs: startOf(first, timeZone), toMs: startOf(first.add(lengths[kind]), timeZone) };
}

/** Whether a window holds a moment. */
export function isWithin(window: Window, atMs: number): boolean {
  return window.fromMs <= atMs && (window.toMs === null || atMs < window.toMs);
}

/** Whether windows can be computed in a zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    windowAt('day', timeZone, 0);
    return true;
  } catch {
    return false;
  }
}

const minuteMs = 60_000;
const lengths = { day: { days: 1 }, week: { days: 7 }, month: { months: 1 } } as const;

function firstDayOf(kind: Exclude<WindowKind, 'total' | 'minute'>, day: Temporal.PlainDate): Temporal.PlainDate {
  switch (kind) {
    case 'day':
      return day;
    case 'week':
      return day.subtract({ days: day.dayOfWeek - 1 });
    case 'month':
      return day.with({ day: 1 });
  }
}

/** The first moment of a day, which is not midnight where clocks skip it. */
function startOf(day: Temporal.PlainDate, timeZone: string): number {
  return day.toZonedDateTime(timeZone).epochMilliseconds;
}
