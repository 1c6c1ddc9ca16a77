/** A run as clients see it. */
import { viewNanoUsd, type PendingCall, type RunPhase, type RunView, type StopReason } from '@pawl/contracts';
import { voidedCalls } from './changed-tools.ts';
import { circlingBefore, hasFailedBefore } from './guards.ts';
import { planOf } from './plan.ts';
import { seededTurns, pauseOf, type RunState } from './state.ts';
import { totalsOf } from './totals.ts';
import { isWaitingOnly, waitedMs, waitingCalls } from './waiting.ts';

export function viewOf(state: RunState): RunView {
  const plan = planOf(state, state.turns.length);
  const { started, ended } = state;
  const totals = totalsOf(state);
  const stopped = ended ?? pauseOf(state);
  const pending = ended ? [] : pendingOf(state);
  const voided = voidedCalls(state);
  const waitsFor = pending[0]?.kind;
  return {
    id: started.runId,
    app: started.app,
    agent: started.agent.name,
    revision: started.agent.revision,
    status: ended ? 'ended' : stopped ? 'paused' : waitsFor ? 'waiting' : 'running',
    phase: phaseOf(state, { hasStopped: stopped !== undefined, isWaiting: isWaitingOnly(state) }),
    stopReason: stopped?.stopReason ?? waitingReason(waitsFor),
    detail: stopped?.detail ?? null,
    answer: stopped?.answer ?? null,
    partial: stopped?.partial ?? false,
    steps: totals.steps,
    toolCalls: totals.toolCalls,
    tokens: totals.tokens,
    cost: viewNanoUsd(totals.costNanoUsd),
    ...(plan ? { plan: plan.items } : {}),
    pending,
    ...(voided.length > 0 ? { voided } : {}),
    traceId: started.traceId,
    ...(stopped ? { waitedMs: waitedUntil(state, stopped.at) } : {}),
    startedAt: started.at,
    endedAt: ended?.at ?? null,
    ...(started.parent ? { parent: { runId: started.parent.runId, callId: callIdOf(started.parent) } } : {}),
    ...(started.forkOf ? { forkOf: started.forkOf } : {}),
  };
}

/** How long a run had waited for people when it stopped. */
function waitedUntil(state: RunState, at: string): number {
  return waitedMs(state, { fromMs: Date.parse(state.started.at), nowMs: Date.parse(at) });
}

/** What the run is doing. Circling counts with the default guards here: it only names the phase. */
function phaseOf(state: RunState, is: { hasStopped: boolean; isWaiting: boolean }): RunPhase {
  if (is.hasStopped) return 'done';
  if (is.isWaiting) return 'waiting';
  const turn = state.turns.at(-1);
  const asked = turn?.acted?.calls.length ?? turn?.thought?.calls.length ?? 0;
  const answered = Object.keys(turn?.observed ?? {}).length;
  if (answered < asked) return answered === 0 ? 'act' : 'observe';
  const m = state.turns.length;
  const isCircling = circlingBefore(state, plainSpec, m) !== undefined;
  return hasFailedBefore(state, m) || isCircling ? 'recover' : 'think';
}

const plainSpec = { instructions: '', models: { think: '' } };

/** Calls that wait for a person, with the very arguments that would be executed. */
export function pendingOf(state: RunState): PendingCall[] {
  return state.turns.slice(seededTurns(state)).flatMap((turn) =>
    waitingCalls(state, turn).map((call) => ({
      callId: call.callId,
      tool: call.tool,
      args: exactJson(call.args),
      argsHash: call.argsHash ?? '',
      expiresAt: call.expiresAt ?? null,
      why: call.why ?? '',
      kind: call.admission === 'input' ? ('input' as const) : ('approval' as const),
    })),
  );
}

function waitingReason(kind: PendingCall['kind'] | undefined): StopReason | null {
  if (!kind) return null;
  return kind === 'input' ? 'waiting_input' : 'waiting_approval';
}

function callIdOf(parent: { m: number; i: number }): string {
  return `call_${parent.m}_${parent.i}`;
}

/** The value of JSON text, such that printing it as JSON gives every number digit for digit. */
function exactJson(text: string): unknown {
  const json = JSON as typeof JSON & { rawJSON(text: string): unknown };
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const isRounded = typeof value === 'number' && context?.source !== undefined && String(value) !== context.source;
    return isRounded ? json.rawJSON(context.source ?? '') : value;
  });
}
