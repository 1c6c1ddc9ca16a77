/**
 * What should exist in a run's log and doesn't yet? Level-triggered: it may be asked at any time, again and again,
 * and names the same things until their facts are there. No clock, no I/O: `nowMs` comes in.
 *
 * Invariants: every call gets exactly one observation, also in a run that stops (I2); any sequence of facts ends within
 * the limits (I8); nothing is decided behind `ended`, nor while the run is paused.
 */
import { noUsage, type Definition, type StopReason, type Thought } from '@pawl/contracts';
import type { Action } from './action.ts';
import { answerOf } from './answer.ts';
import { actOn } from './calls.ts';
import { circlingBefore, isWithoutNews } from './guards.ts';
import { closingPromptOf } from './closing.ts';
import { closingTimeMs, deadlineMs, graceMs, guardsOf, limitReached } from './limits.ts';
import { isMistaken, offeredAnswerOf } from './final-answer.ts';
import { nextPurpose } from './next-purpose.ts';
import { replyOf } from './reply.ts';
import { isBeforeResume, pauseOf, type RunState, type Turn } from './state.ts';
import { stop } from './stop.ts';
import { promptTokensOf } from './tokens.ts';
import { isStep } from './totals.ts';

export function decide(state: RunState, definition: Definition, nowMs: number): Action[] {
  if (state.ended) return [];
  if (pauseOf(state)) return state.cancel ? [stop(state, { reason: 'cancelled', nowMs, definition })] : [];
  const turn = state.turns.at(-1);
  if (turn && !turn.thought) return findThought(state, turn.m, nowMs);
  if (turn?.thought && replyOf(turn.thought, definition.agent.object.spec).calls.length > 0) {
    const open = actOn(state, turn, { thought: turn.thought, definition, nowMs });
    if (open.length > 0) return open;
  }
  return goOn(state, definition, nowMs);
}

/** Everything asked for is answered: the end, or the next thought. */
function goOn(state: RunState, definition: Definition, nowMs: number): Action[] {
  const turn = lastTurnSinceResume(state);
  const end = turn ? endBy(state, turn, { definition, nowMs }) : undefined;
  if (end) return [end];
  if (state.cancel) {
    const hasModelLetGo = turn?.thought?.error?.code === 'run_stopped';
    return hasModelLetGo || state.wasModelIdle
      ? [stop(state, { reason: 'cancelled', nowMs, definition })]
      : awaitThought(state, state.turns.length, nowMs);
  }
  const promptTokens = promptTokensOf(state, definition);
  const reason = reasonToClose(state, turn, { definition, nowMs, promptTokens });
  if (reason) return close(state, reason, { definition, nowMs });
  const purpose = nextPurpose(state, definition.agent.object.spec);
  const closing = purpose === 'conclude' ? { closing: 'final_answer' as const } : {};
  return [
    { type: 'think', m: state.turns.length, purpose, ...closing },
    { type: 'wake', atMs: closingTimeMs(state, nowMs) + graceMs },
  ];
}

/** The newest turn, unless what it brought about was over when the run was resumed. */
function lastTurnSinceResume(state: RunState): Turn | undefined {
  const turn = state.turns.at(-1);
  return turn && (isPlainStep(turn) || !isBeforeResume(state, turn)) ? turn : undefined;
}

/** Whether a turn is a step with calls: it counts whenever it was made. */
function isPlainStep(turn: Turn | undefined): boolean {
  return turn !== undefined && isStep(turn) && turn.acted !== undefined;
}

/** The end that the newest turn brings about, if it does. */
function endBy(state: RunState, turn: Turn, at: { definition: Definition; nowMs: number }): Action | undefined {
  const { thought } = turn;
  const spec = at.definition.agent.object.spec;
  if (!thought) return undefined;
  if (Object.values(turn.observed).some(({ observation }) => observation.errorCode === 'approval_expired')) {
    return stop(state, { reason: 'approval_expired', ...at });
  }
  const reason = thought.purpose === 'conclude' ? (thought.closing ?? 'internal_error') : 'final_answer';
  if (reason !== 'final_answer') return mayCloseAgain(state, turn) ? undefined : stop(state, { reason, ...at });
  const answer = offeredAnswerOf(turn, at.definition);
  const hasSeenAll = (thought.signalsSeen ?? 0) >= state.signals.length;
  if (answer === undefined || !hasSeenAll || stopByCut(thought) || isMistaken(turn, at.definition)) return undefined;
  return stop(state, { reason, ...at, answer: answerOf(spec, answer), isCut: thought.finishReason === 'length' });
}

/** Whether a closing call that was too long is to be made again with less, once. */
function mayCloseAgain(state: RunState, { m, thought }: Turn): boolean {
  const isTooLong = thought?.outcome === 'failed' && thought.error?.closingTokens !== undefined;
  const before = state.turns[m - 1]?.thought;
  return isTooLong && !(before?.purpose === 'conclude' && before.outcome === 'failed');
}

/** The limit that has cut a reply: what is there of it is no answer. */
function stopByCut({ cutBy }: Thought): StopReason | undefined {
  return cutBy && (cutBy === 'spend' ? 'max_spend' : 'max_tokens');
}

/** Why the loop may not go on, or undefined while it may. */
function reasonToClose(
  state: RunState,
  turn: Turn | undefined,
  at: { definition: Definition; nowMs: number; promptTokens: number },
): StopReason | undefined {
  const spec = at.definition.agent.object.spec;
  const guards = guardsOf(spec);
  if (turn?.thought?.outcome === 'failed') return reasonOfFailure(turn.thought);
  const cut = turn?.thought && replyOf(turn.thought, spec).calls.length === 0 ? stopByCut(turn.thought) : undefined;
  if (cut) return cut;
  if (turn && inARow(state, isEmptyReply(spec)) >= guards.emptyReplies) return 'invalid_answer';
  if (turn && inARow(state, (each) => isMistaken(each, at.definition)) > guards.answerRepairs) return 'invalid_answer';
  const limit = limitReached(state, at.nowMs, at.promptTokens);
  if (limit) return limit;
  if (!turn || !isPlainStep(turn) || isBeforeResume(state, turn)) return undefined;
  if (circlingBefore(state, spec, state.turns.length) === 'stop') return 'repeated_action';
  return isWithoutNews(state, spec) ? 'no_new_information' : undefined;
}

function reasonOfFailure(failed: Thought): StopReason {
  if (failed.purpose === 'conclude' && failed.closing && failed.closing !== 'final_answer') return failed.closing;
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

/** Makes the closing call, where there is something to conclude and room for it; else stops as it is. */
function close(state: RunState, reason: StopReason, at: { definition: Definition; nowMs: number }): Action[] {
  const call = { m: state.turns.length, purpose: 'conclude' as const, closing: reason };
  const isLate = at.nowMs >= deadlineMs(state, at.nowMs);
  // The closing call may go to another route than the one that failed, if there is something to conclude at all.
  const isSilent = !state.turns.some(isStep) && (reason === 'model_unavailable' || reason === 'residency_blocked');
  const isHopeless = reason === 'invalid_answer' || isSilent;
  if (isLate || isHopeless || !closingPromptOf(state, at.definition, call)) {
    return [stop(state, { reason, ...at })];
  }
  return [
    { type: 'think', ...call },
    { type: 'wake', atMs: deadlineMs(state, at.nowMs) + graceMs },
  ];
}

/** The log has lost a thought that later facts are about: the gateway still has it and gives it again when it is asked. */
function findThought(state: RunState, m: number, nowMs: number): Action[] {
  const waiting = awaitThought(state, m, nowMs);
  const isOver = state.cancel !== undefined || waiting.some(({ type }) => type === 'write');
  return isOver ? waiting : [{ type: 'think', m, purpose: 'think' }, ...waiting];
}

/** A model is at work, or should be. When it doesn't let go in time, its slot is filled here, so that the run can end. */
function awaitThought(state: RunState, m: number, nowMs: number): Action[] {
  const giveUpAtMs = state.cancel ? Date.parse(state.cancel.at) + graceMs : deadlineMs(state, nowMs) + graceMs;
  if (nowMs < giveUpAtMs) return [{ type: 'wake', atMs: giveUpAtMs }];
  return [{ type: 'write', fact: abandonedThought(state, m, nowMs) }];
}

function abandonedThought(state: RunState, m: number, nowMs: number): Thought {
  const { runId, app } = state.started;
  const at = new Date(nowMs).toISOString();
  return {
    v: 1,
    kind: 'thought',
    runId,
    app,
    at,
    m,
    purpose: 'think',
    outcome: 'failed',
    text: '',
    calls: [],
    error: {
      code: state.cancel ? 'run_stopped' : 'deadline',
      message: 'No answer of the model had come when the run had to stop.',
    },
    usage: noUsage,
    costNanoUsd: '0',
    costBasis: 'estimated',
    startedAt: at,
    durationMs: 0,
  };
}

function inARow(state: RunState, isOne: (turn: Turn) => boolean): number {
  const fromEnd = state.turns.filter((turn) => !isBeforeResume(state, turn)).toReversed();
  const count = fromEnd.findIndex((turn) => !isOne(turn));
  return count === -1 ? fromEnd.length : count;
}

function isEmptyReply(spec: Definition['agent']['object']['spec']) {
  return ({ thought }: Turn): boolean => {
    if (thought?.purpose !== 'think' || thought.outcome !== 'reply') return false;
    const { text, calls } = replyOf(thought, spec);
    return calls.length === 0 && text.trim() === '';
  };
}
