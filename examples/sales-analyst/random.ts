/**
 * Seeded chance for sample data, and the exact division of a sum. Not for anything that must not be guessed.
 */

export interface Random {
  /** Whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
  /** Roughly normal around 0 with deviation 1, never beyond ±3. */
  normal(): number;
  /** A day of a month `YYYY-MM`. */
  dayOf(month: string): string;
  /** A day 1 to `daysMax` after `day`. */
  dayAfter(day: string, daysMax: number): string;
}

const DAY_MS = 86_400_000;

/** A sequence that depends on the seed alone (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const unit = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const integer = (low: number, high: number) => low + Math.floor(unit() * (high - low + 1));
  return {
    integer,
    pick: (items) => {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new RangeError('nothing to pick from');
      return item;
    },
    normal: () => 2 * (unit() + unit() + unit()) - 3,
    dayOf: (month) => {
      const start = Date.parse(`${month}-01`);
      const next = new Date(start + 31 * DAY_MS).toISOString().slice(0, 7);
      return dayText(start + integer(0, (Date.parse(`${next}-01`) - start) / DAY_MS - 1) * DAY_MS);
    },
    dayAfter: (day, daysMax) => dayText(Date.parse(day) + integer(1, daysMax) * DAY_MS),
  };
}

/** Whole parts in proportion to the weights whose sum is exactly `total`. */
export function distribute(total: number, weights: readonly number[]): number[] {
  const weightSum = weights.reduce((sum, weight) => sum + weight, 0);
  const parts = weights.map((weight) => Math.floor((total * weight) / weightSum));
  const left = total - parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part, index) => (index < left ? part + 1 : part));
}

function dayText(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
