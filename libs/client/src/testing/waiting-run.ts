/** A run whose call of `refund` waits for a person. Imported by tests only. */
import type { Acted, Fact, RunView } from '@pawl/contracts';
import { runId, runView } from './run-server.ts';

const base = { v: 1 as const, runId, app: 'demo', at: '2026-11-30T10:00:00.000Z' };
const argsHash = 'c'.repeat(64);

export const refundCall: Acted['calls'][number] = {
  i: 0,
  callId: 'call_0_0',
  tool: 'refund',
  args: '{"amount":120}',
  argsHash,
  admission: 'approval',
  why: 'amounts above 100',
};

export function actedWith(...calls: Acted['calls']): Fact {
  return { ...base, kind: 'acted', m: 0, step: 1, calls };
}

export const waitingRun: RunView = {
  ...runView,
  status: 'waiting',
  phase: 'waiting',
  stopReason: 'waiting_approval',
  detail: null,
  answer: null,
  endedAt: null,
  plan: [
    { text: 'look the order up', isDone: true },
    { text: 'pay back', isDone: false },
  ],
  pending: [
    {
      callId: 'call_0_0',
      tool: 'refund',
      args: { amount: 120, note: 'x\u001B[2Jy' },
      argsHash,
      expiresAt: '2026-12-01T10:00:00.000Z',
      why: 'amounts above 100',
      kind: 'approval',
    },
  ],
};

export const pausedRun: RunView = {
  ...waitingRun,
  status: 'paused',
  phase: 'done',
  stopReason: 'max_steps',
  pending: [],
  steps: 10,
};

export const pausedFact: Fact = {
  ...base,
  kind: 'paused',
  k: 0,
  stopReason: 'max_steps',
  answer: 'so far',
  partial: true,
  detail: 'all steps are used',
  steps: 10,
  toolCalls: 0,
  tokens: 10,
  costNanoUsd: '1',
  durationMs: 5,
};

export function observedOf(i: number): Fact {
  const observation = { data: '1', errorCode: null, message: null, suggestion: null, truncated: false, ref: null };
  return {
    ...base,
    kind: 'observed',
    m: 0,
    i,
    callId: `call_0_${i}`,
    tool: 'search',
    trust: 'untrusted',
    observation: { status: 'ok', ...observation },
    attempt: 1,
    startedAt: base.at,
    durationMs: 1,
  };
}

export function approvalOf(i: number, decision: 'approve' | 'deny'): Fact {
  return {
    ...base,
    kind: 'approval',
    m: 0,
    i,
    callId: `call_0_${i}`,
    decision,
    toolRevision: 'd'.repeat(64),
    argsHash,
    by: 'key 1',
  };
}
