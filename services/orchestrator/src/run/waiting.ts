/** Waiting for people: which calls do, since when, and for how long the run's clock stood still because of them. */
import type { ActedCall, Approval } from '@pawl/contracts';
import { answerTo, type RunState, type Turn } from './state.ts';

/** Calls of a turn that wait for a person's decision or answer. */
export function waitingCalls(state: RunState, turn: Turn): ActedCall[] {
  return (turn.acted?.calls ?? []).filter((call) => {
    if (turn.observed[call.i]) return false;
    if (call.admission === 'approval') return !turn.approvals[call.i];
    return call.admission === 'input' && !answerTo(state, turn.m, call.i);
  });
}

/** Whether a person's word is missing, whatever else goes on. */
export function isWaiting(state: RunState): boolean {
  const turn = state.turns.at(-1);
  return turn !== undefined && waitingCalls(state, turn).length > 0;
}

/** Whether nothing but a person's word is missing. */
export function isWaitingOnly(state: RunState): boolean {
  const turn = state.turns.at(-1);
  if (!turn?.acted) return false;
  const waiting = waitingCalls(state, turn).length;
  const open = turn.acted.calls.filter(({ i }) => !turn.observed[i]).length;
  return waiting > 0 && waiting === open;
}

/** Milliseconds since a time, in which the run waited for people. The clock of a run does not count them. */
export function waitedMs(state: RunState, since: { fromMs: number; nowMs: number }): number {
  return state.turns.reduce((sum, turn) => {
    const asked = turn.acted?.calls.filter(({ admission }) => admission === 'approval' || admission === 'input') ?? [];
    const actedAtMs = Date.parse(turn.acted?.at ?? '');
    if (!turn.acted || actedAtMs < since.fromMs) return sum;
    const own = asked.map((call) => (decidedAtMs(state, turn, call) ?? since.nowMs) - actedAtMs);
    const ofSubRuns = Object.values(turn.observed).map(({ spent }) => spent?.waitedMs ?? 0);
    return sum + Math.max(0, ...own, ...ofSubRuns);
  }, 0);
}

/** Whether another run is to answer a call of this one. */
export function hasOpenSubRun(state: RunState): boolean {
  const turn = state.turns.at(-1);
  return turn?.acted?.calls.some(({ i, admission }) => admission === 'subrun' && !turn.observed[i]) ?? false;
}

function decidedAtMs(state: RunState, turn: Turn, call: ActedCall): number | undefined {
  const at =
    turn.approvals[call.i]?.at ?? answerTo(state, turn.m, call.i)?.at ?? turn.observed[call.i]?.at ?? undefined;
  return at === undefined ? undefined : Date.parse(at);
}

/** The arguments that a call is executed with: as the model asked for them, or as a person changed them. */
export function argumentsOf(call: ActedCall, approval: Approval | undefined): { args: string; argsHash: string } {
  const isEdited = approval?.decision === 'edit' && approval.args !== undefined;
  const args = isEdited ? (approval.args ?? call.args) : call.args;
  const argsHash = isEdited ? approval.argsHash : call.argsHash;
  if (argsHash === undefined) throw new TypeError('only an admitted call has arguments that can be executed');
  return { args, argsHash };
}
