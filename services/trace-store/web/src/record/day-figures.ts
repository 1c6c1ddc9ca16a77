/** Figures of hours put together: a point for each hour, and each tool over all of them. Pure. */
import type { Figures, HourOfRuns, HourOfTool } from '../api/figures.ts';

const hourMs = 3_600_000;

/** A value for every hour of the range, also for those in which nothing happened. Times are those at which hours begin. */
export function byHour(
  { from, to, items }: Pick<Figures, 'from' | 'to' | 'items'>,
  valueOf: (hour: HourOfRuns) => number,
): { at: string; value: number }[] {
  const values = new Map(items.map((hour) => [Date.parse(hour.at), valueOf(hour)]));
  const points: { at: string; value: number }[] = [];
  for (let atMs = Math.floor(Date.parse(from) / hourMs) * hourMs; atMs <= Date.parse(to); atMs += hourMs) {
    points.push({ at: new Date(atMs).toISOString(), value: values.get(atMs) ?? 0 });
  }
  return points;
}

export type ToolFigures = {
  tool: string;
  calls: number;
  failures: number;
  denied: number;
  /** Of the hour in which it was slowest. */
  p95Ms: number | null;
};

/** Tools, those that fail most often first. */
export function byTool(tools: readonly HourOfTool[]): ToolFigures[] {
  const sums = new Map<string, ToolFigures>();
  for (const { tool, calls, failures, denied, durationMs } of tools) {
    const sum = sums.get(tool) ?? { tool, calls: 0, failures: 0, denied: 0, p95Ms: null };
    const p95Ms = durationMs.p95 === null ? sum.p95Ms : Math.max(sum.p95Ms ?? 0, durationMs.p95);
    sums.set(tool, {
      tool,
      calls: sum.calls + calls,
      failures: sum.failures + failures,
      denied: sum.denied + denied,
      p95Ms,
    });
  }
  return [...sums.values()].toSorted(
    (left, right) => right.failures / right.calls - left.failures / left.calls || right.calls - left.calls,
  );
}
