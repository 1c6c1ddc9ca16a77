/** How runs and tools of the app did, hour by hour. */
import type { MoneyView } from '@pawl/contracts';
import { getJson } from './request.ts';

type Latency = { p50: number | null; p95: number | null };

export type HourOfRuns = {
  /** When the hour begins. */
  at: string;
  runs: number;
  ended: number;
  tokens: number;
  cost: MoneyView;
  durationMs: Latency;
  stopReasons: Record<string, number>;
};

export type HourOfTool = {
  at: string;
  tool: string;
  calls: number;
  /** Errors, timeouts, and what is in doubt. */
  failures: number;
  denied: number;
  durationMs: Latency;
};

export type Figures = { from: string; to: string; items: HourOfRuns[]; tools: HourOfTool[] };

/** The hours since a time. */
export function fetchFigures(from: Date, signal?: AbortSignal): Promise<Figures> {
  return getJson(`/v1/traces/aggregates?${new URLSearchParams({ bucket: 'hour', from: from.toISOString() })}`, signal);
}
