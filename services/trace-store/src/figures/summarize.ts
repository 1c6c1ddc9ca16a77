/** Groups of runs and calls as what is told of each bucket. Pure. */
import type { CallGroup, RunGroup } from '../store/aggregates.ts';
import { addDurations, percentileOf, type DurationClasses } from './percentile.ts';

export type Latency = { p50: number | null; p95: number | null };

export type RunSummary = {
  at: Date;
  runs: number;
  ended: number;
  tokens: number;
  costNanoUsd: bigint;
  stopReasons: Record<string, number>;
  durationMs: Latency;
};

/** A summary for each bucket, in the order of the groups. */
export function summarizeRuns(groups: readonly RunGroup[]): RunSummary[] {
  return [...Map.groupBy(groups, ({ bucket }) => bucket.getTime()).values()].map((ofBucket) => {
    const classes: DurationClasses = new Map();
    const stopReasons: Record<string, number> = {};
    const sums = { runs: 0, ended: 0, tokens: 0, costNanoUsd: 0n };
    for (const group of ofBucket) {
      sums.runs += Number(group.runs);
      sums.ended += Number(group.ended);
      sums.tokens += Number(group.tokens);
      sums.costNanoUsd += BigInt(group.cost_nano_usd);
      if (group.stop_reason !== null) {
        stopReasons[group.stop_reason] = (stopReasons[group.stop_reason] ?? 0) + Number(group.runs);
      }
      if (group.duration_class === null) continue;
      addDurations(classes, Number(group.duration_class), {
        count: Number(group.runs),
        us: BigInt(group.duration_us),
      });
    }
    return { at: ofBucket[0]?.bucket ?? new Date(0), ...sums, stopReasons, durationMs: latencyOf(classes) };
  });
}

export type ToolSummary = {
  at: Date;
  tool: string;
  calls: number;
  failures: number;
  denied: number;
  durationMs: Latency;
};

/** Tools of a bucket at the most, those that come first by name. */
const toolsMax = 10_000;

/** A summary for each bucket and tool, in the order of the groups. */
export function summarizeCalls(groups: readonly CallGroup[]): ToolSummary[] {
  const byTool = Map.groupBy(groups, ({ bucket, tool }) => `${bucket.getTime()} ${tool}`);
  return [...byTool.values()].slice(0, toolsMax).map((ofTool) => {
    const classes: DurationClasses = new Map();
    const sums = { calls: 0, failures: 0, denied: 0 };
    for (const group of ofTool) {
      sums.calls += Number(group.calls);
      sums.failures += Number(group.failures);
      sums.denied += Number(group.denied);
      const durations = { count: Number(group.calls), us: BigInt(group.duration_us) };
      addDurations(classes, Number(group.duration_class), durations);
    }
    const [first] = ofTool;
    return { at: first?.bucket ?? new Date(0), tool: first?.tool ?? '', ...sums, durationMs: latencyOf(classes) };
  });
}

function latencyOf(classes: DurationClasses): Latency {
  return { p50: percentileOf(classes, 0.5), p95: percentileOf(classes, 0.95) };
}
