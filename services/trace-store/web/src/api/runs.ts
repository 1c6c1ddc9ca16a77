/** The runs API: how a run stands now, its events while it goes, and what people may do to it. */
import type { Fact, ForkRun, Limits, PendingCall, RunView } from '@pawl/contracts';
import { isExactRecord, parseExact, printExact } from '../record/exact-json.ts';
import { createEventParser } from '../record/server-sent-events.ts';
import { postJson, request } from './request.ts';

/** A call that waits for a person, with its arguments as text, digit for digit. */
export type ShownPending = PendingCall & { argsText: string };
export type ShownRun = Omit<RunView, 'pending'> & { pending: ShownPending[] };

/** How a run stands. */
export async function fetchRun(runId: string, signal?: AbortSignal): Promise<ShownRun> {
  const response = await request(runPath(runId), signal ? { signal } : {});
  return shownRun(await response.text());
}

function shownRun(text: string): ShownRun {
  const run = JSON.parse(text) as RunView;
  const exact = parseExact(text);
  const pending = isExactRecord(exact) && Array.isArray(exact.pending) ? exact.pending : [];
  return {
    ...run,
    pending: (run.pending ?? []).map((call, at) => {
      const item = pending[at];
      const args = isExactRecord(item) ? item.args : undefined;
      return { ...call, argsText: args === undefined ? '' : printExact(args) };
    }),
  };
}

/** Runs that wait for a person. */
export async function fetchWaitingRuns(signal?: AbortSignal): Promise<ShownRun[]> {
  const response = await request('/v1/runs?status=waiting&limit=100', signal ? { signal } : {});
  const { items } = JSON.parse(await response.text()) as { items: RunView[] };
  return Promise.all(items.map(({ id }) => fetchRun(id, signal)));
}

export type Decision =
  | { decision: 'approve'; argsHash: string }
  | { decision: 'deny'; argsHash: string; reason: string }
  | { decision: 'edit'; argsHash: string; argsText: string; reason: string };

/** Decides on a call. Refused (409) when the call no longer waits, or with other arguments. */
export function decide(runId: string, callId: string, decision: Decision): Promise<unknown> {
  const { argsHash } = decision;
  const reason = 'reason' in decision && decision.reason !== '' ? { reason: decision.reason } : {};
  // As text: parsing and printing on the way would round numbers beyond 2^53.
  const args = decision.decision === 'edit' ? { args: decision.argsText } : {};
  const body = JSON.stringify({ decision: decision.decision, argsHash, ...args, ...reason });
  return postJson(`${runPath(runId)}/approvals/${encodeURIComponent(callId)}`, body);
}

export function cancelRun(runId: string, reason: string): Promise<unknown> {
  return postJson(`${runPath(runId)}/cancel`, JSON.stringify(reason === '' ? {} : { reason }));
}

export function sendSignal(runId: string, text: string): Promise<unknown> {
  return postJson(`${runPath(runId)}/signals`, JSON.stringify({ text }));
}

export function resumeRun(runId: string, limits: Limits): Promise<unknown> {
  return postJson(`${runPath(runId)}/resume`, JSON.stringify(Object.keys(limits).length === 0 ? {} : { limits }));
}

export function forkRun(runId: string, fork: ForkRun): Promise<{ id: string }> {
  return postJson(`${runPath(runId)}/fork`, JSON.stringify(fork));
}

export type RunEvents = {
  onFact(fact: Fact, seq: number): void;
  onDelta(delta: { step: number; text: string }): void;
};

/** Follows a run's events behind `afterSeq` until the stream ends. Gives the last place it saw. Throws ApiError. */
export async function followEvents(
  runId: string,
  { afterSeq, signal }: { afterSeq: number; signal: AbortSignal },
  { onFact, onDelta }: RunEvents,
): Promise<void> {
  const headers = { accept: 'text/event-stream', ...(afterSeq > 0 ? { 'last-event-id': String(afterSeq) } : {}) };
  const response = await request(`${runPath(runId)}/events?deltas=true`, { headers, signal });
  if (!response.body) return;
  const parse = createEventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const { id, name, data } of parse(value)) {
      if (name === 'delta') onDelta(JSON.parse(data) as { step: number; text: string });
      else if (id !== undefined) onFact(JSON.parse(data) as Fact, Number(id));
    }
  }
}

function runPath(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}
