import { expect, test } from 'vitest';
import { burnDownOf } from './burn-down.ts';
import { queueState } from './queue-state.ts';

const hourMs = 3_600_000;
const at = (hour: number) => new Date(Date.UTC(2026, 10, 30, hour)).toISOString();
const window = { from: at(0), to: at(24) };
const nowMs = Date.parse(at(12)) + hourMs / 2;

test('what is left goes down by what each hour has cost, in whatever order the hours come', () => {
  const spent = [
    { at: at(12), size: 1 },
    { at: at(2), size: 4 },
  ];
  const curve = burnDownOf({ limit: 20, window, spent, stepMs: hourMs, nowMs });
  expect(curve?.points).toEqual([
    { atMs: Date.parse(at(0)), left: 20 },
    { atMs: Date.parse(at(3)), left: 16 },
    { atMs: nowMs, left: 15 },
  ]);
  expect(curve).not.toHaveProperty('goneAtMs');
});

test('a budget that does not last says when it will be gone at this pace', () => {
  const spent = [{ at: at(1), size: 15 }];
  expect(burnDownOf({ limit: 20, window, spent, stepMs: hourMs, nowMs })?.goneAtMs).toBe(
    Date.parse(at(0)) + (12.5 * hourMs * 20) / 15,
  );
  // Spent to the end, there is nothing to foretell.
  expect(burnDownOf({ limit: 15, window, spent, stepMs: hourMs, nowMs })).not.toHaveProperty('goneAtMs');
});

test('a budget without an end is drawn from its first spending to now', () => {
  const spent = [{ at: at(6), size: 5 }];
  const curve = burnDownOf({ limit: 20, window: { from: null, to: null }, spent, stepMs: hourMs, nowMs });
  expect(curve).toMatchObject({ fromMs: Date.parse(at(6)), toMs: nowMs });
});

test('nothing is drawn of nothing', () => {
  expect(burnDownOf({ limit: 20, window, spent: [], stepMs: hourMs, nowMs })).toBeUndefined();
});

test.each([
  ['idle', { waiting: 0, underWay: 0, asking: 0, oldestWaitingMs: 0 }],
  ['flowing', { waiting: 0, underWay: 3, asking: 0, oldestWaitingMs: 0 }],
  ['flowing', { waiting: 2, underWay: 3, asking: 0, oldestWaitingMs: 900 }],
  ['slow', { waiting: 2, underWay: 3, asking: 0, oldestWaitingMs: 60_000 }],
  ['unattended', { waiting: 2, underWay: 0, asking: 0, oldestWaitingMs: 900 }],
  ['flowing', { waiting: 2, underWay: 0, asking: 1, oldestWaitingMs: 900 }],
])('a queue is %s with %o', (state, figures) => {
  expect(queueState(figures)).toBe(state);
});
