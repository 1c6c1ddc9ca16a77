/**
 * Running in circles (G3, G4): the same action again, a swing between two, rounds that bring nothing new.
 * An action is the set of calls of one step, by tool and canonical arguments.
 */
import type { AgentSpec } from '@pawl/contracts';
import { guardsOf } from './limits.ts';
import { isBeforeResume, turnsBeforeResume, type RunState, type Turn } from './state.ts';
import { isStep } from './totals.ts';

export type Circling = 'intervene' | 'stop' | undefined;

/**
 * Whether the steps before thought m go in circles. The first time the model gets a word about it; when the very next
 * step does it again, the run stops. So one call is asked for at most twice more than `identicalActions` allows. A run that is
 * resumed starts anew.
 */
export function circlingBefore(state: RunState, spec: AgentSpec, m: number): Circling {
  const actions = actionsOf(state.turns.slice(turnsBeforeResume(state, m), m));
  if (!isCircle(actions, guardsOf(spec).identicalActions)) return undefined;
  return isCircle(actions.slice(0, -1), guardsOf(spec).identicalActions) ? 'stop' : 'intervene';
}

/** Whether nothing of the last step before thought m worked: the next thought has to recover. */
export function hasFailedBefore(state: RunState, m: number): boolean {
  const turn = state.turns.slice(0, m).findLast(isStep);
  const results = Object.values(turn?.observed ?? {});
  return results.length > 0 && results.every(({ observation }) => !isUseful(observation.status));
}

function isUseful(status: string): boolean {
  return status === 'ok' || status === 'duplicate';
}

/** Whether the last rounds since the run was resumed brought nothing that it did not know. */
export function isWithoutNews(state: RunState, spec: AgentSpec): boolean {
  const rounds = guardsOf(spec).noNewInformation;
  const known = new Set<string>();
  const news = state.turns
    .filter((turn) => isStep(turn) && Object.keys(turn.observed).length > 0)
    .map((turn) => {
      const fresh = Object.values(turn.observed).filter(({ observation }) => {
        const content = `${observation.status === 'ok' ? '' : (observation.errorCode ?? '')}${observation.data ?? ''}`;
        const isFresh = observation.status !== 'duplicate' && !known.has(content);
        known.add(content);
        return isFresh;
      });
      return { hasNews: fresh.length > 0, isOver: isBeforeResume(state, turn) };
    })
    .filter(({ isOver }) => !isOver);
  return news.length >= rounds && news.slice(-rounds).every(({ hasNews }) => !hasNews);
}

/** How often a tool has failed in a row, up to and including a call. */
export function failuresInARow(state: RunState, tool: string, upTo: { m: number; i: number }): number {
  const results = state.turns
    .slice(0, upTo.m + 1)
    .flatMap((turn) => Object.values(turn.observed))
    .filter((observed) => observed.tool === tool && (observed.m < upTo.m || observed.i <= upTo.i));
  const lastSuccess = results.findLastIndex(({ observation }) => isUseful(observation.status));
  return results.length - 1 - lastSuccess;
}

function isCircle(actions: string[], identicalMax: number): boolean {
  const last = actions.at(-1);
  if (last === undefined) return false;
  const isRepeated = actions.length >= identicalMax && actions.slice(-identicalMax).every((action) => action === last);
  const [a, b, c, d] = actions.slice(-4);
  const isSwing = actions.length >= 4 && a === c && b === d;
  return isRepeated || isSwing;
}

function actionsOf(turns: readonly Turn[]): string[] {
  return turns
    .filter((turn) => isStep(turn) && turn.acted)
    .map((turn) =>
      (turn.acted?.calls ?? [])
        .map((call) => `${call.tool} ${call.argsHash ?? call.args}`)
        .toSorted()
        .join('\n'),
    );
}
