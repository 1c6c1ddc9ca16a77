/** The spans that the orchestrator's facts record or hang under. */
import type { Fact } from '@pawl/contracts';
import { callSpanId, runSpanId, thoughtSpanId, type TraceContext } from '@pawl/telemetry';

/** The span that everything of a run hangs under. */
export function traceOfRun(run: { traceId: string; runId: string }): TraceContext {
  return { traceId: run.traceId, spanId: runSpanId(run.runId), isSampled: true };
}

/** The span that a fact of the orchestrator's records. */
export function traceOfFact(traceId: string, fact: Fact): TraceContext {
  return { traceId, spanId: spanIdOf(fact), isSampled: true };
}

function spanIdOf(fact: Fact): string {
  switch (fact.kind) {
    case 'observed':
      return callSpanId(fact.runId, fact.m, fact.i);
    case 'thought':
    case 'acted':
      return thoughtSpanId(fact.runId, fact.m);
    default:
      return runSpanId(fact.runId);
  }
}
