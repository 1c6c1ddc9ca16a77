/**
 * One run that is under way in this replica: what its facts say so far, and what was done about it.
 * `drive` asks `decide` what is missing and sees to it, each thing once; what doesn't come about within 10 s is done
 * again, so that a lost message costs time and never a run (I4). A run about which `decide` fails, by a mistake of ours, waits for
 * a replica that can do better, and ends when its time is over.
 */
import { slotOf, type Definition, type Fact, type Started } from '@pawl/contracts';
import type { Action } from '../run/action.ts';
import { answerVoid, type ChangedAtMs } from '../run/changed-tools.ts';
import { decide } from '../run/decide.ts';
import { deadlineMs, graceMs } from '../run/limits.ts';
import { evolve, startOf, type RunState } from '../run/state.ts';
import { stop } from '../run/stop.ts';
import type { Effect, Perform } from './perform.ts';

const redriveAfterMs = 10_000;
/** How soon something is tried again that failed outright. */
const retryAfterMs = 1_000;

export type LiveRun = {
  state(): RunState;
  /** Takes a fact in, without acting on it. */
  apply(fact: Fact): void;
  /** Gives the run what it is pinned to; nothing is decided before. */
  define(definition: Definition): void;
  /** Does what is missing now. */
  drive(): void;
  /** Drives again when a time that the run waits for has come, or something is overdue. */
  tick(): void;
};

export type LiveRunOptions = {
  started: Started;
  perform: Perform;
  changedAtMs: ChangedAtMs;
  /** Whether this replica may still act for the run. */
  isOwned(): boolean;
  onError(error: unknown, about: { runId: string; action: string }): void;
};

export function createLiveRun(options: LiveRunOptions): LiveRun {
  let state = startOf(options.started);
  let definition: Definition | undefined;
  let wakeAtMs = Number.POSITIVE_INFINITY;
  // What is tried again is measured, not dated: the clock of a machine may be set back.
  let retryAtMs = Number.POSITIVE_INFINITY;
  const doneAtMs = new Map<string, number>();

  const attempt = (effect: Effect, key: string, of: Definition) => {
    doneAtMs.set(key, performance.now());
    options.perform(effect, { state, definition: of }).catch((error: unknown) => {
      doneAtMs.delete(key);
      retryAtMs = Math.min(retryAtMs, performance.now() + retryAfterMs);
      options.onError(error, { runId: options.started.runId, action: key });
    });
  };

  const actionsOf = (of: Definition, nowMs: number): Action[] => {
    const { changedAtMs, started, onError } = options;
    try {
      return [...decide(state, of, nowMs), ...answerVoid(state, { definition: of, changedAtMs, nowMs })];
    } catch (error) {
      onError(error, { runId: started.runId, action: 'decide' });
      retryAtMs = performance.now() + redriveAfterMs;
      const isOver = nowMs > deadlineMs(state, nowMs) + graceMs;
      return isOver ? [stop(state, { reason: 'internal_error', nowMs, definition: of })] : [];
    }
  };

  const drive = () => {
    if (!definition || !options.isOwned()) return;
    retryAtMs = Number.POSITIVE_INFINITY;
    const actions = actionsOf(definition, Date.now());
    wakeAtMs = Math.min(Infinity, ...actions.map((action) => (action.type === 'wake' ? action.atMs : Infinity)));
    const wanted = new Set<string>();
    for (const action of actions) {
      if (action.type === 'wake') continue;
      const key = keyOf(action);
      wanted.add(key);
      const isFresh = performance.now() - (doneAtMs.get(key) ?? -redriveAfterMs) < redriveAfterMs;
      if (!isFresh) attempt(action, key, definition);
    }
    for (const key of doneAtMs.keys()) if (!wanted.has(key)) doneAtMs.delete(key);
  };

  return {
    state: () => state,
    apply(fact) {
      state = evolve(state, fact) ?? state;
    },
    define(value) {
      definition = value;
    },
    drive,
    tick() {
      const overdueSinceMs = performance.now() - redriveAfterMs;
      const isOverdue = doneAtMs.values().some((atMs) => atMs < overdueSinceMs);
      if (isOverdue || performance.now() >= retryAtMs || Date.now() >= wakeAtMs) drive();
    },
  };
}

function keyOf(effect: Effect): string {
  switch (effect.type) {
    case 'write':
      return slotOf(effect.fact);
    case 'think':
      return `${effect.purpose} ${effect.m}`;
    default:
      return `${effect.type} ${effect.m}.${effect.call.i}`;
  }
}
