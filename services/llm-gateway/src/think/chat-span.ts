/** The span `chat {model}` of a thought. Under the same ids however often the work is delivered. */
import type { Thought } from '@pawl/contracts';
import { attributes, recordSpan, runSpanId, thoughtSpanId } from '@pawl/telemetry';

export function recordChatSpan(thought: Thought, trace: { traceId: string; isSampled: boolean }): void {
  const { route, usage } = thought;
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
    attributes: {
      [attributes.operationName]: 'chat',
      [attributes.providerName]: route.provider,
      [attributes.requestModel]: route.model,
      [attributes.requestStream]: true,
      ...(route.responseId === undefined ? {} : { [attributes.responseId]: route.responseId }),
      ...(thought.finishReason === undefined ? {} : { [attributes.responseFinishReasons]: [thought.finishReason] }),
      ...(thought.firstTokenMs === undefined
        ? {}
        : { [attributes.responseTimeToFirstChunk]: thought.firstTokenMs / 1_000 }),
      [attributes.inputTokens]: usage.inputTokens,
      [attributes.outputTokens]: usage.outputTokens,
      [attributes.cacheReadTokens]: usage.cachedInputTokens,
      [attributes.cacheWriteTokens]: usage.cacheWriteTokens,
      [attributes.reasoningTokens]: usage.reasoningTokens,
      [attributes.app]: thought.app,
      [attributes.runId]: thought.runId,
      [attributes.purpose]: thought.purpose,
      [attributes.costNanoUsd]: thought.costNanoUsd,
      [attributes.routeReason]: route.routeReason,
    },
    ...(thought.error ? { error: { type: thought.error.code, message: thought.error.message } } : {}),
  });
}
