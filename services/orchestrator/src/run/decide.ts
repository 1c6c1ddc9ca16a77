/**
 * What should exist in a run's log and doesn't yet? Level-triggered: it may be asked at any time, again and again,
 * and names the same things until their facts are there. No clock, no I/O: `nowMs` comes in.
 *
 * Invariants: every call gets exactly one observation, also in a run that stops (I2); any sequence of facts ends within
 * the limits (I8); nothing is decided behind `ended`.
 */
import {
  failedObservation,
  type Acted,
  type ActedCall,
  type Definition,
  type Ended,
  type Fact,
  type Observation,
  type Observed,
  type StopReason,
  type Thought,
} from '@pawl/contracts';
import { admitCalls, type Admission } from './admit.ts';
import { closingTimeMs, graceMs, limitReached, outputRoom, outputTokens } from './limits.ts';
import { promptTokensOf } from './prompt.ts';
import type { RunState, Turn } from './state.ts';
import { stopDetail } from './stop-detail.ts';
import { bestAnswerOf, isStep, totalsOf } from './totals.ts';

export type Action =
  /** Write this fact into its slot. */
  | { type: 'write'; fact: Fact }
  /** Ask a model. */
  | { type: 'think'; m: number; purpose: 'think' | 'conclude'; closing?: StopReason }
  /** Have a tool executed. */
  | { type: 'act'; m: number; step: number; call: ActedCall }
  /** Ask again at this time, whatever happens until then. */
  | { type: 'wake'; atMs: number };

/** How many empty replies in a row are put up with. */
const emptyRepliesMax = 2;

export function decide(state: RunState, definition: Definition, nowMs: number): Action[] {
  if (state.ended) return [];
  const turn = state.turns.at(-1);
  if (turn && !turn.thought) return awaitThought(state, turn.m, nowMs);
  if (turn?.thought && turn.thought.calls.length > 0) {
    const open = actOn(state, turn, { thought: turn.thought, definition, nowMs });
    if (open.length > 0) return open;
  }
  return goOn(state, definition, nowMs);
}

/** Everything asked for is answered: the next thought, or the end. */
function goOn(state: RunState, definition: Definition, nowMs: number): Action[] {
  const next = state.turns.length;
  const last = state.turns.at(-1)?.thought;
  if (last && isAnswer(last)) return [end(state, 'final_answer', nowMs)];
  if (last?.purpose === 'conclude') return [end(state, last.closing ?? 'internal_error', nowMs)];
  if (state.cancel) {
    const isModelFree = last?.error?.code === 'run_stopped';
    return isModelFree ? [end(state, 'cancelled', nowMs)] : awaitThought(state, next, nowMs);
  }
  if (emptyReplies(state) >= emptyRepliesMax) return [end(state, 'invalid_answer', nowMs)];
  const promptTokens = promptTokensOf(state, definition);
  const failure = last?.outcome === 'failed' ? reasonOfFailure(last) : undefined;
  if (failure === 'residency_blocked') return [end(state, failure, nowMs)];
  const limit = failure ?? limitReached(state, nowMs, promptTokens);
  if (limit) return close(state, limit, { nowMs, promptTokens });
  return [
    { type: 'think', m: next, purpose: 'think' },
    { type: 'wake', atMs: closingTimeMs(state) + graceMs },
  ];
}

/** Whether a thought ends the run with its text. */
function isAnswer(thought: Thought): boolean {
  const isReply = thought.outcome === 'reply' && thought.purpose !== 'conclude';
  return isReply && thought.calls.length === 0 && thought.text.trim() !== '';
}

/** Makes the closing call, where there is something to conclude and room for it; else ends as it is. */
function close(state: RunState, reason: StopReason, at: { nowMs: number; promptTokens: number }): Action[] {
  const isLate = at.nowMs >= Date.parse(state.started.deadlineAt);
  const hasRoom = outputRoom(state, 'conclude', at.promptTokens) >= outputTokens.min;
  if (isLate || !hasRoom || !state.turns.some(isStep)) return [end(state, reason, at.nowMs)];
  return [
    { type: 'think', m: state.turns.length, purpose: 'conclude', closing: reason },
    { type: 'wake', atMs: Date.parse(state.started.deadlineAt) + graceMs },
  ];
}

function reasonOfFailure(failed: Thought): StopReason {
  switch (failed.error?.code) {
    case 'budget_exceeded':
      return 'max_spend';
    case 'residency_blocked':
      return 'residency_blocked';
    case 'deadline':
      return 'deadline';
    default:
      return 'model_unavailable';
  }
}

/** A model is at work, or should be. When it doesn't let go in time, its slot is filled here, so that the run can end. */
function awaitThought(state: RunState, m: number, nowMs: number): Action[] {
  const giveUpAtMs = state.cancel
    ? Date.parse(state.cancel.at) + graceMs
    : Date.parse(state.started.deadlineAt) + graceMs;
  if (nowMs < giveUpAtMs) return [{ type: 'wake', atMs: giveUpAtMs }];
  return [{ type: 'write', fact: abandonedThought(state, m, nowMs) }];
}

/** What the calls of a thought still need: to be written down, to be executed, to be answered. */
function actOn(
  state: RunState,
  turn: Turn,
  from: { thought: Thought; definition: Definition; nowMs: number },
): Action[] {
  const before = totalsOf(state).toolCalls - (turn.acted?.calls.filter((call) => call.admission === 'run').length ?? 0);
  const admissions = admitCalls(from.thought.calls, {
    m: turn.m,
    definition: from.definition,
    user: state.started.user,
    callsLeft: state.started.limits.toolCalls - before,
    isClosing: from.thought.purpose === 'conclude',
  });
  const step = state.turns.slice(0, turn.m + 1).filter(isStep).length;
  const written: Action[] = turn.acted
    ? []
    : [{ type: 'write', fact: acted(state, turn.m, { step, admissions, nowMs: from.nowMs }) }];
  const stopAtMs = state.cancel ? Date.parse(state.cancel.at) + graceMs : closingTimeMs(state) + graceMs;
  const isLettingGo = state.cancel !== undefined && turn.acted !== undefined && from.nowMs < stopAtMs;
  const isStopping = (state.cancel !== undefined && !isLettingGo) || from.nowMs >= stopAtMs;
  const unanswered = admissions.filter(({ call }) => !turn.observed[call.i]);
  const open = unanswered.flatMap((admission): Action[] => {
    const answer = admission.answer ?? (isStopping ? stoppedObservation(state) : undefined);
    if (answer) return [{ type: 'write', fact: observed(state, turn.m, { admission, answer, nowMs: from.nowMs }) }];
    return isLettingGo ? [] : [{ type: 'act', m: turn.m, step, call: admission.call }];
  });
  if (written.length + unanswered.length === 0) return [];
  return [...written, ...open, { type: 'wake', atMs: stopAtMs }];
}

function stoppedObservation(state: RunState): Observation {
  return state.cancel
    ? failedObservation('cancelled', { code: 'run_stopped', message: 'The run was cancelled before a result came.' })
    : failedObservation('timeout', { code: 'tool_timeout', message: 'The time of the run ended before a result came.' });
}

function emptyReplies(state: RunState): number {
  const fromEnd = state.turns.toReversed();
  const count = fromEnd.findIndex(({ thought }) => !thought || thought.calls.length > 0 || thought.text.trim() !== '');
  return count === -1 ? fromEnd.length : count;
}

function base(state: RunState, nowMs: number) {
  const { runId, app } = state.started;
  return { v: 1 as const, runId, app, at: new Date(nowMs).toISOString() };
}

function acted(state: RunState, m: number, of: { step: number; admissions: Admission[]; nowMs: number }): Acted {
  return { ...base(state, of.nowMs), kind: 'acted', m, step: of.step, calls: of.admissions.map(({ call }) => call) };
}

function observed(
  state: RunState,
  m: number,
  of: { admission: Admission; answer: Observation; nowMs: number },
): Observed {
  const { call } = of.admission;
  return {
    ...base(state, of.nowMs),
    kind: 'observed',
    m,
    i: call.i,
    callId: call.callId,
    tool: call.tool,
    trust: 'trusted',
    observation: of.answer,
    attempt: 1,
    startedAt: new Date(of.nowMs).toISOString(),
    durationMs: 0,
  };
}

function abandonedThought(state: RunState, m: number, nowMs: number): Thought {
  const code = state.cancel ? 'run_stopped' : 'deadline';
  return {
    ...base(state, nowMs),
    kind: 'thought',
    m,
    purpose: 'think',
    outcome: 'failed',
    text: '',
    calls: [],
    error: { code, message: 'No answer of the model had come when the run had to stop.' },
    usage: { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 },
    costNanoUsd: '0',
    costBasis: 'estimated',
    startedAt: new Date(nowMs).toISOString(),
    durationMs: 0,
  };
}

function end(state: RunState, stopReason: StopReason, nowMs: number): Action {
  const totals = totalsOf(state);
  const last = state.turns.at(-1)?.thought;
  const isFinal = stopReason === 'final_answer';
  const fact: Ended = {
    ...base(state, nowMs),
    kind: 'ended',
    stopReason,
    answer: bestAnswerOf(state),
    partial: !isFinal || last?.finishReason === 'length',
    detail: stopDetail(state, stopReason),
    steps: totals.steps,
    toolCalls: totals.toolCalls,
    tokens: totals.tokens,
    costNanoUsd: totals.costNanoUsd.toString(),
    durationMs: Math.max(0, nowMs - Date.parse(state.started.at)),
  };
  return { type: 'write', fact };
}
