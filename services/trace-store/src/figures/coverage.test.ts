import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coverageOf, hourMs, type Span } from './coverage.ts';

const hours = (from: number, to: number): Span => ({ fromMs: from * hourMs, toMs: to * hourMs });

test.for<[string, Span, Span | undefined, number[], ReturnType<typeof coverageOf>]>([
  ['nothing is counted', hours(1, 9), undefined, [], { counted: undefined, outdated: [], direct: [hours(1, 9)] }],
  [
    'other hours are counted',
    hours(1, 3),
    hours(4, 9),
    [],
    { counted: undefined, outdated: [], direct: [hours(1, 3)] },
  ],
  ['all is counted', hours(1, 9), hours(0, 10), [], { counted: hours(1, 9), outdated: [], direct: [] }],
  [
    'edges and outdated hours are counted now',
    hours(1.5, 8.5),
    hours(0, 10),
    [4, 5, 7, 9].map((hour) => hour * hourMs),
    {
      counted: hours(2, 8),
      outdated: [4, 5, 7].map((hour) => hour * hourMs),
      direct: [hours(1.5, 2), hours(4, 6), hours(7, 8), hours(8, 8.5)],
    },
  ],
  [
    'less than an hour',
    hours(1.25, 1.75),
    hours(0, 10),
    [],
    { counted: undefined, outdated: [], direct: [hours(1.25, 1.75)] },
  ],
])('%s', ([, range, counted, outdated, expected]) => {
  expect(coverageOf(range, counted, outdated)).toEqual(expected);
});

test('every moment of a range is covered once, however many hours are outdated', () => {
  const hour = fc.integer({ min: 0, max: 200 });
  fc.assert(
    fc.property(
      fc.tuple(hour, hour),
      fc.tuple(hour, hour),
      fc.array(hour, { maxLength: 90 }),
      (range, known, changed) => {
        const [from, to] = range.toSorted((a, b) => a - b) as [number, number];
        if (from === to) return;
        const [start, end] = known.toSorted((a, b) => a - b) as [number, number];
        const outdatedMs = changed.map((at) => at * hourMs);
        const { counted, outdated, direct } = coverageOf(hours(from, to), hours(start, end), outdatedMs);
        const covers = ({ fromMs, toMs }: Span, at: number) => fromMs <= at && at < toMs;
        for (let at = from * hourMs; at < to * hourMs; at += hourMs) {
          const isCounted = counted !== undefined && covers(counted, at) && !outdated.includes(at);
          expect(direct.filter((span) => covers(span, at)).length).toBe(isCounted ? 0 : 1);
          expect(isCounted && outdatedMs.includes(at)).toBe(false);
        }
        expect(direct.length).toBeLessThanOrEqual(26);
      },
    ),
  );
});
