/** What the calls of a thought still need: to be written down, approved, executed, answered (I2). */
import {
  failedObservation,
  type ActedCall,
  type Definition,
  type Observation,
  type Observed,
  type Thought,
} from '@pawl/contracts';
import type { Action } from './action.ts';
import type { Admission } from './admit.ts';
import { judge } from './judgement.ts';
import { closingTimeMs, graceMs } from './limits.ts';
import { answerTo, type RunState, type Turn } from './state.ts';
import { stepOf } from './totals.ts';
import { argumentsOf } from './waiting.ts';

type From = { thought: Thought; definition: Definition; nowMs: number };

/** What is missing so that every call of a turn has its observation; nothing when they all have. */
export function actOn(state: RunState, turn: Turn, from: From): Action[] {
  const admissions = admissionsOf(state, turn, from);
  const unanswered = admissions.filter(({ call }) => !turn.observed[call.i]);
  if (turn.acted && unanswered.length === 0) return [];
  const stopAtMs = stopTimeMs(state, from.nowMs);
  const about = { ...from, turn, stopAtMs, step: stepOf(state, turn.m) };
  const written: Action[] = turn.acted ? [] : [{ type: 'write', fact: acted(state, { ...about, admissions }) }];
  const open = unanswered.flatMap((admission) => nextOf(state, admission, about));
  return [...written, ...open, { type: 'wake', atMs: stopAtMs }];
}

/** Judged when the thought came, as it is written in `acted`; the same judgement again where that is not there yet. */
function admissionsOf(state: RunState, turn: Turn, from: From): Admission[] {
  const judged = judge(state, turn, from);
  if (!turn.acted) return judged;
  return turn.acted.calls.map((call) => {
    const answer = judged[call.i]?.answer ?? interrupted;
    return call.admission === 'answered' ? { call, answer } : { call };
  });
}

type About = From & { turn: Turn; stopAtMs: number; step: number };

/** The next thing that one call without an observation needs. */
function nextOf(state: RunState, admission: Admission, about: About): Action[] {
  const { call, answer } = admission;
  const { turn, nowMs } = about;
  const answerWith = (observation: Observation): Action[] => [
    { type: 'write', fact: observed(state, about, { call, observation }) },
  ];
  if (answer) return answerWith(answer);
  if (state.cancel && !turn.acted) return answerWith(stopped(state));
  if (nowMs >= about.stopAtMs) return [...takenBack(call, about), ...answerWith(stopped(state))];
  const approval = turn.approvals[call.i];
  switch (call.admission) {
    case 'answered':
      return answerWith(interrupted);
    case 'input': {
      const signal = answerTo(state, turn.m, call.i);
      if (signal) return answerWith(given(signal.text ?? null, signal.data ?? null));
      return state.cancel ? answerWith(stopped(state)) : [];
    }
    case 'approval':
      if (approval?.decision === 'deny') return answerWith(denied(approval.reason));
      if (approval?.decision === 'expire') return answerWith(expired);
      if (state.cancel && !approval) return answerWith(stopped(state));
      return approval ? executed(state, call, about) : untilDecided(call, turn.m, nowMs);
    case 'run':
    case 'subrun':
      return executed(state, call, about);
  }
}

/** A call that may be made, handed to whoever carries out its tool; or taken back from there. */
function executed(state: RunState, call: ActedCall, about: About): Action[] {
  if (state.cancel) return takenBack(call, about);
  const { m } = about.turn;
  const { step } = about;
  const { args, argsHash } = argumentsOf(call, about.turn.approvals[call.i]);
  if (isSubRun(call, about)) return [{ type: 'subrun', m, step, call, args }];
  return [{ type: 'act', m, step, call, args, argsHash }];
}

/** Tools are told by the run's own stop, or by the deadline of their work. A run has to be told: it may wait for a person. */
function takenBack(call: ActedCall, about: About): Action[] {
  return isSubRun(call, about) ? [{ type: 'stop-subrun', m: about.turn.m, call }] : [];
}

/** Whether a call that may be made is answered by a run. */
function isSubRun({ tool, i, admission }: ActedCall, { definition, turn }: About): boolean {
  const isMade = admission === 'subrun' || (admission === 'approval' && turn.approvals[i] !== undefined);
  return isMade && definition.tools.some(({ object }) => object.metadata.name === tool && object.spec.agent);
}

function untilDecided(call: ActedCall, m: number, nowMs: number): Action[] {
  const expiresAtMs = Date.parse(call.expiresAt ?? '');
  if (Number.isNaN(expiresAtMs)) return [];
  return nowMs >= expiresAtMs ? [{ type: 'expire', m, call }] : [{ type: 'wake', atMs: expiresAtMs }];
}

/** When calls are answered in the place of those who were to answer them. Never while only a person's word is missing. */
function stopTimeMs(state: RunState, nowMs: number): number {
  return state.cancel ? Date.parse(state.cancel.at) + graceMs : closingTimeMs(state, nowMs) + graceMs;
}

function acted(state: RunState, of: About & { admissions: Admission[] }) {
  return {
    v: 1 as const,
    kind: 'acted' as const,
    runId: state.started.runId,
    app: state.started.app,
    at: new Date(of.nowMs).toISOString(),
    m: of.turn.m,
    step: of.step,
    calls: of.admissions.map(({ call }) => call),
  };
}

/** The answer to one call, from the orchestrator itself. */
export function observed(
  state: RunState,
  about: { turn: Turn; nowMs: number },
  of: { call: ActedCall; observation: Observation },
): Observed {
  const at = new Date(about.nowMs).toISOString();
  return {
    v: 1,
    kind: 'observed',
    runId: state.started.runId,
    app: state.started.app,
    at,
    m: about.turn.m,
    i: of.call.i,
    callId: of.call.callId,
    tool: of.call.tool,
    trust: of.observation.status === 'duplicate' ? 'untrusted' : 'trusted',
    observation: of.observation,
    attempt: 1,
    startedAt: at,
    durationMs: 0,
  };
}

function stopped(state: RunState): Observation {
  return state.cancel
    ? failedObservation('cancelled', { code: 'run_stopped', message: 'The run was cancelled before a result came.' })
    : failedObservation('timeout', {
        code: 'tool_timeout',
        message: 'The time of the run ended before a result came.',
      });
}

function denied(reason: string | undefined): Observation {
  return failedObservation('denied', {
    code: 'approval_denied',
    message: reason ? `A person did not approve this: ${reason}` : 'A person did not approve this.',
    suggestion: 'Do not ask for the same again; find another way, or answer without it.',
  });
}

const expired = failedObservation('denied', {
  code: 'approval_expired',
  message: 'Nobody decided on this in time.',
});

const interrupted = failedObservation('error', { code: 'internal_error', message: 'This call was not judged.' });

function given(text: string | null, data: string | null): Observation {
  const content = data === null ? { answer: text } : { answer: text, data: JSON.parse(data) as unknown };
  return {
    status: 'ok',
    data: JSON.stringify(content),
    errorCode: null,
    message: null,
    suggestion: null,
    truncated: false,
    ref: null,
  };
}
