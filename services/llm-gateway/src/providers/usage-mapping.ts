/**
 * A provider's `usage` object in Pawl's terms. Pure.
 * Parts never exceed their totals: what a provider reports beyond that is cut. Whatever makes no sense counts as no usage.
 */
import { z } from 'zod';
import type { Usage } from '@pawl/contracts';

const tokens = z.number().int().nonnegative().max(1_000_000_000);
const someTokens = tokens.nullish().catch(undefined);

const usageBodySchema = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: someTokens,
  prompt_tokens_details: z
    .object({ cached_tokens: someTokens, cache_write_tokens: someTokens, cache_creation_tokens: someTokens })
    .nullish()
    .catch(undefined),
  completion_tokens_details: z.object({ reasoning_tokens: someTokens }).nullish().catch(undefined),
  /** DeepSeek. */
  prompt_cache_hit_tokens: someTokens,
  /** Anthropic's words, as some gateways pass them on. */
  cache_read_input_tokens: someTokens,
  cache_creation_input_tokens: someTokens,
});

/** The usage in a chunk or completion, or undefined when there is none. */
export function parseUsage(body: unknown): Usage | undefined {
  if (body === undefined || body === null) return undefined;
  const parsed = usageBodySchema.safeParse(body);
  if (!parsed.success) return undefined;
  const usage = parsed.data;
  const details = usage.prompt_tokens_details;
  const cached = details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cache_read_input_tokens ?? 0;
  const written =
    details?.cache_write_tokens ?? details?.cache_creation_tokens ?? usage.cache_creation_input_tokens ?? 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  // xAI's completion_tokens leave reasoning out; its total tells.
  const isReasoningApart =
    reasoning > 0 && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens + reasoning;
  const outputTokens = usage.completion_tokens + (isReasoningApart ? reasoning : 0);
  const cachedInputTokens = Math.min(cached, usage.prompt_tokens);
  return {
    inputTokens: usage.prompt_tokens,
    cachedInputTokens,
    cacheWriteTokens: Math.min(written, usage.prompt_tokens - cachedInputTokens),
    outputTokens,
    reasoningTokens: Math.min(reasoning, outputTokens),
  };
}
