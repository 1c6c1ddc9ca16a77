/** A run as clients see it. */
import { viewNanoUsd, type RunView } from '@pawl/contracts';
import type { RunState } from './state.ts';
import { totalsOf } from './totals.ts';

export function viewOf(state: RunState): RunView {
  const { started, ended } = state;
  const totals = totalsOf(state);
  return {
    id: started.runId,
    app: started.app,
    agent: started.agent.name,
    revision: started.agent.revision,
    status: ended ? 'ended' : 'running',
    stopReason: ended?.stopReason ?? null,
    detail: ended?.detail ?? null,
    answer: ended?.answer ?? null,
    partial: ended?.partial ?? false,
    steps: totals.steps,
    toolCalls: totals.toolCalls,
    tokens: totals.tokens,
    cost: viewNanoUsd(totals.costNanoUsd),
    pending: [],
    traceId: started.traceId,
    startedAt: started.at,
    endedAt: ended?.at ?? null,
  };
}
