import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDurations, percentileOf, type DurationClasses } from './percentile.ts';

const classOf = (us: number) => Math.floor(Math.log(Math.max(us, 1)) / Math.log(1.1));
const classesOf = (durations: readonly number[]): DurationClasses => {
  const classes: DurationClasses = new Map();
  for (const us of durations) addDurations(classes, classOf(us), { count: 1, us: BigInt(us) });
  return classes;
};

/** As Postgres computes `percentile_cont`. */
function exactly(durations: readonly number[], part: number): number {
  const sorted = durations.toSorted((a, b) => a - b);
  const rank = part * (sorted.length - 1);
  const [low = 0, high = 0] = [sorted[Math.floor(rank)], sorted[Math.ceil(rank)]];
  return (low + (high - low) * (rank - Math.floor(rank))) / 1_000;
}

test('a percentile is within a tenth of the exact one, and the same in any order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1e12 }), { minLength: 1 }),
      fc.constantFrom(0, 0.5, 0.95, 1),
      (us, part) => {
        const found = percentileOf(classesOf(us), part) ?? 0;
        const wanted = exactly(us, part);
        expect(Math.abs(found - wanted)).toBeLessThanOrEqual(0.1 * wanted + 0.001);
        expect(percentileOf(classesOf(us.toReversed()), part)).toBe(found);
      },
    ),
  );
});

test('of durations that are alike it is exact, and of none there is none', () => {
  expect(percentileOf(classesOf([3_220_000, 3_220_000]), 0.95)).toBe(3_220);
  expect(percentileOf(new Map(), 0.5)).toBeNull();
});
