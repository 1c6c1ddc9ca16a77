/**
 * Calls that wait for a decision about a tool that is another one by now (I11): whatever a person said would be void, so nobody is
 * asked any longer, and the model is told. Pure.
 */
import { failedObservation, type ActedCall, type Definition, type RunView } from '@pawl/contracts';
import type { Action } from './action.ts';
import { observed } from './calls.ts';
import { pauseOf, seededTurns, type RunState } from './state.ts';
import { waitingCalls } from './waiting.ts';

/** When an app accepted another definition of a tool of an MCP server, as Unix time in ms; undefined while the first one stands. */
export type ChangedAtMs = (of: { app: string; server: string; tool: string }) => number | undefined;

/** Why a decision on a call would be void, in a sentence; undefined where it counts. */
export function whyVoid(
  state: RunState,
  { tool: name }: Pick<ActedCall, 'tool'>,
  from: { definition: Definition; changedAtMs: ChangedAtMs },
): string | undefined {
  const mcp = from.definition.tools.find(({ object }) => object.metadata.name === name)?.object.spec.mcp;
  const changedAtMs = mcp && from.changedAtMs({ app: state.started.app, server: mcp.server, tool: mcp.tool });
  const askedAt = state.turns.at(-1)?.acted?.at;
  if (!mcp || changedAtMs === undefined || askedAt === undefined || Date.parse(askedAt) > changedAtMs) return undefined;
  return `The server ${mcp.server} has changed what ${name} is since this call was asked for, so a decision on it would be void.`;
}

/** Calls that waited for a decision and were answered with that it would be void. */
export function voidedCalls(state: RunState): NonNullable<RunView['voided']> {
  return state.turns.slice(seededTurns(state)).flatMap(({ acted, approvals, observed: answers }) =>
    (acted?.calls ?? []).flatMap(({ i, callId, tool, admission }) => {
      const answer = admission === 'approval' && !approvals[i] ? answers[i]?.observation : undefined;
      return answer?.errorCode === 'tool_not_allowed' ? [{ callId, tool, why: answer.message ?? '' }] : [];
    }),
  );
}

/** Answers the calls on which a decision would be void. */
export function answerVoid(
  state: RunState,
  from: { definition: Definition; changedAtMs: ChangedAtMs; nowMs: number },
): Action[] {
  const turn = state.turns.at(-1);
  if (!turn || state.ended || pauseOf(state)) return [];
  return waitingCalls(state, turn).flatMap((call): Action[] => {
    const message = call.admission === 'approval' ? whyVoid(state, call, from) : undefined;
    if (message === undefined) return [];
    const suggestion = 'Call it again, if it still is what you want.';
    const observation = failedObservation('denied', { code: 'tool_not_allowed', message, suggestion });
    return [{ type: 'write', fact: observed(state, { turn, nowMs: from.nowMs }, { call, observation }) }];
  });
}
