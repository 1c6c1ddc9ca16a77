/**
 * One run that is under way in this replica: what its facts say so far, and what was done about it.
 * `drive` asks `decide` what is missing and sees to it, each thing once; what doesn't come about within 10 s is done
 * again, so that a lost message costs time and never a run (I4).
 */
import { publishFact, publishWork, type Bus } from '@pawl/bus';
import { slotOf, type Definition, type Fact, type Started } from '@pawl/contracts';
import { callSpanId, runSpanId, thoughtSpanId, type TraceContext } from '@pawl/telemetry';
import { decide, type Action } from '../run/decide.ts';
import { evolve, type RunState } from '../run/state.ts';
import { actWorkOf, thinkWorkOf } from '../run/work.ts';

const redriveAfterMs = 10_000;

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
  bus: Bus;
  started: Started;
  /** Whether this replica may still act for the run. */
  isOwned(): boolean;
  onError(error: unknown, about: { runId: string; action: string }): void;
};

export function createLiveRun(options: LiveRunOptions): LiveRun {
  const { bus, started } = options;
  let state: RunState = { started, turns: [] };
  let definition: Definition | undefined;
  let wakeAtMs = Number.POSITIVE_INFINITY;
  const doneAtMs = new Map<string, number>();

  const perform = async (action: Exclude<Action, { type: 'wake' }>, of: Definition): Promise<void> => {
    const runTrace = traceOfRun(started);
    switch (action.type) {
      case 'write':
        await publishFact(bus, action.fact, traceOfFact(started, action.fact));
        return;
      case 'think':
        await publishWork(bus, thinkWorkOf(state, of, action), runTrace);
        return;
      case 'act':
        await publishWork(bus, actWorkOf(state, of, action), runTrace);
        return;
    }
  };

  const drive = () => {
    if (!definition || !options.isOwned()) return;
    const actions = decide(state, definition, Date.now());
    wakeAtMs = Math.min(Number.POSITIVE_INFINITY, ...actions.map((a) => (a.type === 'wake' ? a.atMs : Infinity)));
    const wanted = new Set<string>();
    for (const action of actions) {
      if (action.type === 'wake') continue;
      const key = keyOf(action);
      wanted.add(key);
      if (performance.now() - (doneAtMs.get(key) ?? -redriveAfterMs) < redriveAfterMs) continue;
      doneAtMs.set(key, performance.now());
      perform(action, definition).catch((error: unknown) => {
        doneAtMs.delete(key);
        wakeAtMs = Math.min(wakeAtMs, Date.now() + 1_000);
        options.onError(error, { runId: started.runId, action: key });
      });
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
      if (isOverdue || Date.now() >= wakeAtMs) drive();
    },
  };
}

function keyOf(action: Exclude<Action, { type: 'wake' }>): string {
  switch (action.type) {
    case 'write':
      return slotOf(action.fact);
    case 'think':
      return `${action.purpose} ${action.m}`;
    case 'act':
      return `act ${action.m}.${action.call.i}`;
  }
}

/** The span that everything of a run hangs under. */
export function traceOfRun(started: Started): TraceContext {
  return { traceId: started.traceId, spanId: runSpanId(started.runId), isSampled: true };
}

/** The span that a fact of the orchestrator's records. */
function traceOfFact(started: Started, fact: Fact): TraceContext {
  const spanId =
    fact.kind === 'observed'
      ? callSpanId(started.runId, fact.m, fact.i)
      : fact.kind === 'thought' || fact.kind === 'acted'
        ? thoughtSpanId(started.runId, fact.m)
        : runSpanId(started.runId);
  return { traceId: started.traceId, spanId, isSampled: true };
}
