/** The span `execute_tool {tool}` of one call, written when its report is known. Arguments and results are not on it. */
import type { ObservationStatus } from '@pawl/contracts';
import { attributes, recordSpan, type TraceContext } from '@pawl/telemetry';
import type { Report } from './effects/report.ts';

export type CallSpan = {
  app: string;
  tool: string;
  /** Absent when a tool is only tried. */
  run: { runId: string; callId: string } | undefined;
  report: Report;
  /** The call's own span. */
  trace: TraceContext;
  parentSpanId: string;
};

const failedStatuses: readonly ObservationStatus[] = ['error', 'timeout', 'in_doubt'];

export function recordCallSpan({ app, tool, run, report, trace, parentSpanId }: CallSpan): void {
  const { observation, startedAt, durationMs } = report;
  const startedAtMs = Date.parse(startedAt);
  const isFailed = observation.errorCode !== null && failedStatuses.includes(observation.status);
  recordSpan({
    name: `execute_tool ${tool}`,
    kind: 'internal',
    trace: { ...trace, parentSpanId },
    startedAtMs,
    endedAtMs: startedAtMs + durationMs,
    attributes: {
      [attributes.operationName]: 'execute_tool',
      [attributes.toolName]: tool,
      [attributes.toolType]: 'function',
      ...(run ? { [attributes.toolCallId]: run.callId, [attributes.runId]: run.runId } : {}),
      [attributes.app]: app,
      [attributes.observationStatus]: observation.status,
    },
    ...(isFailed ? { error: { type: observation.errorCode ?? '', message: observation.message ?? '' } } : {}),
  });
}
