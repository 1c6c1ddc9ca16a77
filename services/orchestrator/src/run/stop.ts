/** How a run stops: for good (`ended`), or until it is given more (`paused`). */
import type { Definition, Ended, Paused, StopReason } from '@pawl/contracts';
import type { Action } from './action.ts';
import { bestAnswerOf } from './final-answer.ts';
import type { RunState } from './state.ts';
import { stopDetail } from './stop-detail.ts';
import { totalsOf } from './totals.ts';

/** Reasons after which a run can go on when it is resumed, with more where a limit stopped it. */
export const resumableReasons: readonly StopReason[] = [
  'max_steps',
  'max_tool_calls',
  'max_tokens',
  'max_spend',
  'deadline',
  'repeated_action',
  'no_new_information',
  'model_unavailable',
  'residency_blocked',
  'invalid_answer',
];

export type Stop = {
  reason: StopReason;
  nowMs: number;
  definition: Definition;
  /** The final answer; absent: the best that the run has. */
  answer?: string;
  /** Whether even a final answer is less than what was asked for. */
  isCut?: boolean;
};

/** Writes down that the run stops. */
export function stop(state: RunState, of: Stop): Action {
  const { runId, app } = state.started;
  const base = { v: 1 as const, runId, app, at: new Date(of.nowMs).toISOString() };
  const fact: Ended | Paused = resumableReasons.includes(of.reason)
    ? { ...base, kind: 'paused', k: state.pauses.length, ...outcomeOf(state, of) }
    : { ...base, kind: 'ended', ...outcomeOf(state, of) };
  return { type: 'write', fact };
}

function outcomeOf(state: RunState, of: Stop) {
  const totals = totalsOf(state);
  return {
    stopReason: of.reason,
    answer: of.answer ?? bestAnswerOf(state, of.definition),
    partial: of.reason !== 'final_answer' || of.isCut === true,
    detail: stopDetail(state, of.reason, of.isCut),
    steps: totals.steps,
    toolCalls: totals.toolCalls,
    tokens: totals.tokens,
    costNanoUsd: totals.costNanoUsd.toString(),
    durationMs: Math.max(0, of.nowMs - Date.parse(state.started.at)),
  };
}
