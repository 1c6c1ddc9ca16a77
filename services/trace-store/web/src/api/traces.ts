/** The traces API. */
import type { Trace, TracedRun } from '../record/trace.ts';
import { getJson, request } from './request.ts';

export type RunPage = { items: TracedRun[]; next: string | null };

/** A page of runs, newest first. Empty filters are left out. */
export function fetchRuns(
  filter: Record<string, string>,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<RunPage> {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  if (cursor !== null) query.set('cursor', cursor);
  return getJson(`/v1/traces?${query}`, signal);
}

/** A run with its records. */
export function fetchTrace(runId: string, signal?: AbortSignal): Promise<Trace> {
  return getJson(tracePath(runId), signal);
}

/** The JSON text of a record's fact, as it was written. */
export async function fetchBodyText(path: string): Promise<string> {
  return (await request(path)).text();
}

/** Where the body of a record is. */
export function bodyPath(runId: string, slot: string): string {
  return `${tracePath(runId)}/records/${encodeURIComponent(slot)}`;
}

function tracePath(runId: string): string {
  return `/v1/traces/${encodeURIComponent(runId)}`;
}
