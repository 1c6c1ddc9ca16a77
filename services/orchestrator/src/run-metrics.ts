/** Metrics of runs under way. Each replica tells of the partitions that it decides for; together they have all. */
import { registerGauges } from '@pawl/service';
import type { Registry } from 'prom-client';
import type { Partitions } from './partitions/partitions.ts';
import { deadlineMs } from './run/limits.ts';
import { pauseOf, type RunState } from './run/state.ts';
import { isWaiting } from './run/waiting.ts';

/** The loop stops a run at its deadline by itself; one that is still there so much later is stuck. */
const stuckAfterMs = 60_000;

export type RunMetricsOptions = {
  registry: Registry;
  partitions: Pick<Partitions, 'owned' | 'states'>;
  /** How many partitions there are in all. */
  partitionCount: number;
};

export function registerRunMetrics({ registry, partitions, partitionCount }: RunMetricsOptions): void {
  registerGauges({
    registry,
    look: () => countRuns(partitions.states(), Date.now()),
    gauges: {
      pawl_runs_open: {
        help: 'Runs that have not ended: running, waiting for a person, or paused until they are resumed',
        labelNames: ['status'],
        valuesOf: ({ stuck: _stuck, ...open }) =>
          Object.entries(open).map(([status, value]) => ({ labels: { status }, value })),
      },
      pawl_runs_stuck: {
        help: 'Runs that should have ended or paused more than a minute ago',
        valuesOf: ({ stuck }) => [{ value: stuck }],
      },
    },
  });
  registerGauges({
    registry,
    look: () => partitions.owned(),
    gauges: {
      pawl_partitions: {
        help: 'Partitions of the run log, the same in every replica',
        valuesOf: () => [{ value: partitionCount }],
      },
      pawl_partitions_owned: {
        help: 'Partitions that this replica decides for',
        valuesOf: (owned) => [{ value: owned }],
      },
    },
  });
}

function countRuns(states: Iterable<RunState>, nowMs: number) {
  const counts = { running: 0, waiting: 0, paused: 0, stuck: 0 };
  for (const state of states) {
    if (pauseOf(state)) counts.paused += 1;
    else if (isWaiting(state)) counts.waiting += 1;
    else {
      counts.running += 1;
      if (nowMs > deadlineMs(state, nowMs) + stuckAfterMs) counts.stuck += 1;
    }
  }
  return counts;
}
