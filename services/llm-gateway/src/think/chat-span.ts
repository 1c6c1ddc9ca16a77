/** The span `chat {model}` of a thought. Under the same ids however often the work is delivered. */
import type { Thought } from '@pawl/contracts';
import { attributes, recordSpan, runSpanId, thoughtSpanId } from '@pawl/telemetry';
import { chatAttributes } from '../call/chat-attributes.ts';

export function recordChatSpan(thought: Thought, trace: { traceId: string; isSampled: boolean }): void {
  const { route } = thought;
  if (!route) return;
  const startedAtMs = Date.parse(thought.startedAt);
  recordSpan({
    name: `chat ${route.model}`,
    kind: 'client',
    trace: {
      traceId: trace.traceId,
      spanId: thoughtSpanId(thought.runId, thought.m),
      parentSpanId: runSpanId(thought.runId),
      isSampled: trace.isSampled,
    },
    startedAtMs,
    endedAtMs: startedAtMs + thought.durationMs,
    attributes: { ...chatAttributes({ ...thought, route }), [attributes.runId]: thought.runId },
    ...(thought.error ? { error: { type: thought.error.code, message: thought.error.message } } : {}),
  });
}
