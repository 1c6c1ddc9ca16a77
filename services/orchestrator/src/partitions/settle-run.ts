/** What is done once when a run has ended: who waits is told, its end is noted in Postgres and its span is reported. */
import { attributes, recordSpan, runSpanId } from '@pawl/telemetry';
import type { Log } from '@pawl/service';
import type { RunStore } from '../intake/run-store.ts';
import type { RunState } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import type { Endings } from './endings.ts';

/** A note that fails now is made later by the watchdog. */
export function createSettleRun(using: {
  store: RunStore;
  endings: Endings;
  log: Log;
}): (state: RunState) => void {
  return (state) => {
    const view = viewOf(state);
    using.endings.announce(view);
    using.store
      .recordEnded(view)
      .catch((error: unknown) => using.log.warn({ err: error, runId: view.id }, 'the end will be noted later'));
    reportSpan(state);
  };
}

function reportSpan(state: RunState): void {
  const { started, ended } = state;
  if (!ended) return;
  const isFailure = ended.stopReason === 'internal_error' || ended.stopReason === 'model_unavailable';
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
