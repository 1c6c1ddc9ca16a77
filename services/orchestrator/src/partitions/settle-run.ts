/** What is done when a run stops or begins to wait: who waits for it is told, it is noted in Postgres, its span is reported. */
import { attributes, recordSpan, runSpanId } from '@pawl/telemetry';
import type { Log } from '@pawl/service';
import type { RunStore } from '../intake/run-store.ts';
import type { SubRuns } from '../intake/sub-runs.ts';
import { pauseOf, type RunState } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import { isWaiting } from '../run/waiting.ts';
import type { Endings } from './endings.ts';
import type { TellWaiting } from './tell-waiting.ts';

/** What fails here is done later by the watchdog, or by the parent that asks again. */
export function createSettleRun(using: {
  store: RunStore;
  subRuns: SubRuns;
  endings: Endings;
  tellWaiting: TellWaiting;
  log: Log;
}): (state: RunState) => void {
  const { store, subRuns, endings, tellWaiting, log } = using;
  return (state) => {
    const hasStopped = state.ended !== undefined || pauseOf(state) !== undefined;
    if (!hasStopped && !isWaiting(state)) return;
    const view = viewOf(state);
    endings.announce(view);
    if (!hasStopped) {
      tellWaiting(state);
      return;
    }
    const later = (error: unknown) => log.warn({ err: error, runId: view.id }, 'will be noted later');
    store.recordStopped(view).catch(later);
    subRuns.report(view, state.started).catch(later);
    reportSpan(state);
  };
}

function reportSpan(state: RunState): void {
  const { started, ended } = state;
  if (!ended) return;
  const isFailure = ended.stopReason === 'internal_error';
  recordSpan({
    name: `invoke_agent ${started.agent.name}`,
    kind: 'internal',
    trace: {
      traceId: started.traceId,
      spanId: runSpanId(started.runId),
      parentSpanId: started.parentSpanId,
      isSampled: true,
    },
    startedAtMs: Date.parse(started.at),
    endedAtMs: Date.parse(ended.at),
    attributes: {
      [attributes.operationName]: 'invoke_agent',
      [attributes.agentName]: started.agent.name,
      ...(started.session ? { [attributes.conversationId]: started.session } : {}),
      [attributes.runId]: started.runId,
      [attributes.app]: started.app,
      [attributes.stopReason]: ended.stopReason,
      [attributes.steps]: ended.steps,
      [attributes.costNanoUsd]: ended.costNanoUsd,
    },
    error: isFailure ? { type: ended.stopReason, message: ended.detail } : undefined,
  });
}
