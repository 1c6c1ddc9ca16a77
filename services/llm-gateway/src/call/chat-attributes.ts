/** What the span of a model call says, by the conventions for generative AI. Pure. */
import type { Usage } from '@pawl/contracts';
import { attributes } from '@pawl/telemetry';

export type SpannedCall = {
  route: { provider: string; model: string; routeReason: string; responseId?: string | undefined };
  finishReason?: string | undefined;
  firstTokenMs?: number | undefined;
  usage: Usage;
  app: string;
  purpose: string;
  costNanoUsd: string;
};

export function chatAttributes(call: SpannedCall): Record<string, string | number | boolean | string[]> {
  const { route, usage } = call;
  return {
    [attributes.operationName]: 'chat',
    [attributes.providerName]: route.provider,
    [attributes.requestModel]: route.model,
    [attributes.requestStream]: true,
    ...(route.responseId === undefined ? {} : { [attributes.responseId]: route.responseId }),
    ...(call.finishReason === undefined ? {} : { [attributes.responseFinishReasons]: [call.finishReason] }),
    ...(call.firstTokenMs === undefined ? {} : { [attributes.responseTimeToFirstChunk]: call.firstTokenMs / 1_000 }),
    [attributes.inputTokens]: usage.inputTokens,
    [attributes.outputTokens]: usage.outputTokens,
    [attributes.cacheReadTokens]: usage.cachedInputTokens,
    [attributes.cacheWriteTokens]: usage.cacheWriteTokens,
    [attributes.reasoningTokens]: usage.reasoningTokens,
    [attributes.app]: call.app,
    [attributes.purpose]: call.purpose,
    [attributes.costNanoUsd]: call.costNanoUsd,
    [attributes.routeReason]: route.routeReason,
  };
}
