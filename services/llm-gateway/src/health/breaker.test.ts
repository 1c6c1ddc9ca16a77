import { expect, it } from 'vitest';
import { afterFailure, afterStart, closedCircuit, isPassable, type Circuit } from './breaker.ts';

const failTimes = (times: number, circuit: Circuit = closedCircuit, nowMs = 1_000): Circuit =>
  Array.from({ length: times }).reduce<Circuit>((before) => afterFailure(before, nowMs), circuit);

it('opens after five failures in a row, and not before', () => {
  expect(isPassable(failTimes(4), 1_000)).toBe(true);
  expect(isPassable(failTimes(5), 1_000)).toBe(false);
});

it('lets one call probe after the pause, and waits longer when that fails, too', () => {
  const open = failTimes(5);
  expect(isPassable(open, 5_999)).toBe(false);
  expect(isPassable(open, 6_000)).toBe(true);
  const probed = afterStart(open, 6_000);
  expect(isPassable(probed, 6_001)).toBe(false);
  const failedAgain = afterFailure(probed, 6_100);
  expect(isPassable(failedAgain, 16_099)).toBe(false);
  expect(isPassable(failedAgain, 16_100)).toBe(true);
  expect(failTimes(50).openUntilMs).toBe(61_000);
});

it('lets others try when a probe never came back', () => {
  const probed = afterStart(failTimes(5), 6_000);
  expect(isPassable(probed, 36_000)).toBe(true);
});

it('keeps away for as long as the endpoint asks, within a minute', () => {
  const busy = afterFailure(closedCircuit, 1_000, 2_000);
  expect([isPassable(busy, 2_999), isPassable(busy, 3_000)]).toEqual([false, true]);
  expect(afterFailure(closedCircuit, 1_000, 3_600_000).openUntilMs).toBe(61_000);
});
