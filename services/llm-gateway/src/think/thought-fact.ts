/** The thought fact of a piece of think work. Pure. */
import { noUsage, type Thought, type ThinkWork, type Usage } from '@pawl/contracts';
import type { Stop } from '../providers/call-clock.ts';
import type { ModelCallResult } from '../providers/call-model.ts';
import type { StopKind } from '../ledger/entry.ts';
import type { Denial, Target } from './admission.ts';

export type Clocking = { startedAtMs: number; endedAtMs: number };

/** What a call used and cost, and how that is known. */
export type Bill = { usage: Usage; costNanoUsd: bigint; basis: Thought['costBasis'] };

export const freeBill: Bill = { usage: noUsage, costNanoUsd: 0n, basis: 'measured' };

/** The thought of work that never reached a model. */
export function deniedThought(work: ThinkWork, denial: Denial, clocking: Clocking): Thought {
  return { ...baseOf(work, clocking), ...billed(freeBill), outcome: 'failed', text: '', calls: [], error: denial };
}

/** The thought of a call that was made. A broken one keeps its text, and never its calls. */
export function calledThought(
  work: ThinkWork,
  made: { target: Target; result: ModelCallResult; bill: Bill },
  clocking: Clocking,
): Thought {
  const { target, result, bill } = made;
  const { candidate, routeReason } = target;
  const { reply, firstTokenMs } = result;
  const error = errorOf(result.end);
  return {
    ...baseOf(work, clocking),
    ...billed(bill),
    outcome: error ? 'failed' : 'reply',
    text: mayTell(work, result) ? reply.text : '',
    calls: error ? [] : reply.calls,
    ...(reply.finishReason === undefined ? {} : { finishReason: reply.finishReason }),
    ...(error ? { error } : {}),
    route: {
      provider: candidate.provider,
      model: candidate.model,
      ...(candidate.region === undefined ? {} : { region: candidate.region }),
      routeReason,
      ...(reply.responseId === undefined ? {} : { responseId: reply.responseId }),
    },
    ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
  };
}

/**
 * Whether the words of a reply may be told. Hidden thoughts are the words beside calls: of a reply that broke, nobody knows
 * whether calls would have followed.
 */
export function mayTell(work: ThinkWork, { reply, end }: Pick<ModelCallResult, 'reply' | 'end'>): boolean {
  return !work.areThoughtsHidden || (end.kind === 'reply' && reply.calls.length === 0);
}

/** The word of the books for how a call ended. */
export function stopKindOf(end: ModelCallResult['end']): StopKind {
  switch (end.kind) {
    case 'reply':
    case 'refused':
    case 'broken':
      return end.kind;
    case 'busy':
      return 'unavailable';
    case 'stopped':
      return end.stop.kind === 'timeout' ? 'broken' : end.stop.kind === 'shutdown' ? 'abandoned' : 'stopped';
  }
}

function baseOf(work: ThinkWork, { startedAtMs, endedAtMs }: Clocking) {
  return {
    v: 1 as const,
    kind: 'thought' as const,
    runId: work.runId,
    app: work.app,
    at: new Date(endedAtMs).toISOString(),
    m: work.m,
    purpose: work.purpose,
    ...(work.closing === undefined ? {} : { closing: work.closing }),
    ...(work.signalsSeen === undefined ? {} : { signalsSeen: work.signalsSeen }),
    startedAt: new Date(startedAtMs).toISOString(),
    durationMs: Math.max(0, endedAtMs - startedAtMs),
  };
}

function billed(bill: Bill) {
  return { usage: bill.usage, costNanoUsd: bill.costNanoUsd.toString(), costBasis: bill.basis };
}

function errorOf(end: ModelCallResult['end']): Denial | undefined {
  switch (end.kind) {
    case 'reply':
      return undefined;
    case 'refused':
    case 'broken':
      return { code: end.code, message: end.message };
    case 'busy':
      return { code: 'model_unavailable', message: end.message };
    case 'stopped':
      return errorOfStop(end.stop);
  }
}

function errorOfStop(stop: Stop): Denial {
  switch (stop.kind) {
    case 'timeout': {
      const limit = `${stop.limitMs / 1_000} s`;
      const messages = {
        headers: `the model endpoint took the request and did not answer within ${limit}`,
        firstToken: `the model endpoint sent no token within ${limit}`,
        idle: `the model endpoint fell silent for ${limit} in the middle of the reply`,
        total: `the model call took longer than ${limit}`,
      };
      return { code: 'model_unavailable', message: messages[stop.phase] };
    }
    case 'deadline':
      return { code: 'deadline', message: "The run's deadline passed while the model was being asked." };
    case 'run-stopped':
      return { code: 'run_stopped', message: 'The run was stopped while the model was being asked.' };
    case 'shutdown':
      return { code: 'unavailable', message: 'The gateway was stopped while the model was being asked.' };
  }
}
