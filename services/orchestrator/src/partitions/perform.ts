/** Carries out what `decide` asks for. Everything here may be done again without harm. */
import { publishFact, publishWork, type Bus } from '@pawl/bus';
import type { Definition } from '@pawl/contracts';
import type { SayWord } from '../intake/say-word.ts';
import type { SubRuns } from '../intake/sub-runs.ts';
import type { Action } from '../run/action.ts';
import type { RunState } from '../run/state.ts';
import { actWorkOf, thinkWorkOf } from '../run/work.ts';
import { traceOfFact, traceOfRun } from './trace-of.ts';

export type Effect = Exclude<Action, { type: 'wake' }>;

export type Perform = (effect: Effect, of: { state: RunState; definition: Definition }) => Promise<void>;

export function createPerform(using: { bus: Bus; sayWord: SayWord; subRuns: SubRuns }): Perform {
  const { bus, sayWord, subRuns } = using;
  return async (effect, { state, definition }) => {
    const { started } = state;
    const nowMs = Date.now();
    switch (effect.type) {
      case 'write':
        await publishFact(bus, effect.fact, traceOfFact(started.traceId, effect.fact));
        return;
      case 'think':
        await publishWork(bus, thinkWorkOf(state, { definition, call: effect, nowMs }), traceOfRun(started));
        return;
      case 'act':
        await publishWork(bus, actWorkOf(state, { definition, call: effect, nowMs }), traceOfRun(started));
        return;
      case 'subrun':
        await subRuns.ensure(state, definition, effect);
        return;
      case 'stop-subrun':
        await subRuns.stop(state, effect);
        return;
      case 'expire':
        await sayWord(expiredApproval(state, effect), started.traceId);
        return;
    }
  };
}

function expiredApproval(state: RunState, { m, call }: Effect & { type: 'expire' }) {
  return {
    v: 1 as const,
    kind: 'approval' as const,
    runId: state.started.runId,
    app: state.started.app,
    at: new Date().toISOString(),
    m,
    i: call.i,
    callId: call.callId,
    decision: 'expire' as const,
    toolRevision: call.toolRevision ?? '',
    argsHash: call.argsHash ?? '',
    by: 'the clock',
  };
}
