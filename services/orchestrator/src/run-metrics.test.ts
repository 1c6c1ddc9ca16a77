import { Registry } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import { registerRunMetrics } from './run-metrics.ts';
import { decide } from './run/decide.ts';
import { defaultLimits } from './run/limits.ts';
import { evolve, type RunState } from './run/state.ts';
import { call, definitionWith, started, startMs, stateOf, thought } from './run/story.suite.ts';

const definition = definitionWith([{ name: 'refund' }], { approvals: [{ tool: 'refund' }] });

/** The state once everything that is decided now is written. */
function settled(state: RunState): RunState {
  return decide(state, definition, startMs).reduce<RunState>(
    (so, action) => (action.type === 'write' ? (evolve(so, action.fact) ?? so) : so),
    state,
  );
}

const running = stateOf(started());
const waiting = settled(stateOf(started(), thought(0, { calls: [call('refund')] })));
const paused = settled(stateOf(started({ tokens: 100 })));

async function scrapeAt(offsetMs: number): Promise<Record<string, number>> {
  vi.setSystemTime(startMs + offsetMs);
  const registry = new Registry();
  const partitions = { states: () => [running, waiting, paused], owned: () => 3 };
  registerRunMetrics({ registry, partitions, partitionCount: 8 });
  const lines = (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]));
}

afterEach(() => {
  vi.useRealTimers();
});

test('runs are told by what they wait for, and partitions by who decides for them', async () => {
  expect(await scrapeAt(1_000)).toEqual({
    'pawl_runs_open{status="running"}': 1,
    'pawl_runs_open{status="waiting"}': 1,
    'pawl_runs_open{status="paused"}': 1,
    pawl_runs_stuck: 0,
    pawl_partitions: 8,
    pawl_partitions_owned: 3,
  });
});

test('a run is stuck a minute after its own deadline; one that waits for a person or is paused never is', async () => {
  const { wallClockMs } = defaultLimits;
  expect(await scrapeAt(wallClockMs + 60_000)).toMatchObject({ pawl_runs_stuck: 0 });
  expect(await scrapeAt(wallClockMs + 60_001)).toMatchObject({ pawl_runs_stuck: 1 });
  expect(await scrapeAt(wallClockMs * 100)).toMatchObject({ pawl_runs_stuck: 1 });
});
