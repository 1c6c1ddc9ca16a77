import { expect, test } from 'vitest';
import type { HourOfRuns, HourOfTool } from '../api/figures.ts';
import { byHour, byTool } from './day-figures.ts';

test('an hour in which nothing happened has its place', () => {
  const items = [{ at: '2026-11-30T01:00:00.000Z', runs: 7 }] as HourOfRuns[];
  const range = { from: '2026-11-30T00:20:00.000Z', to: '2026-11-30T02:10:00.000Z', items };
  expect(byHour(range, ({ runs }) => runs).map(({ value }) => value)).toEqual([0, 7, 0]);
});

test('tools are put together over the hours, the worst first', () => {
  const hour = (tool: string, [calls, failures]: [number, number], p95: number | null): HourOfTool => ({
    at: '',
    tool,
    calls,
    failures,
    denied: 1,
    durationMs: { p50: null, p95 },
  });
  expect(byTool([hour('good', [100, 1], 40), hour('bad', [2, 1], null), hour('good', [100, 2], 90)])).toEqual([
    { tool: 'bad', calls: 2, failures: 1, denied: 1, p95Ms: null },
    { tool: 'good', calls: 200, failures: 3, denied: 2, p95Ms: 90 },
  ]);
});
