/** What a model call used, in tokens. Subsets are named as such: they are parts of the totals, never added on top. */
import { z } from 'zod';

const tokens = z.number().int().nonnegative();

export const usageSchema = z.object({
  /** All input tokens, those read from or written to a cache included. */
  inputTokens: tokens,
  /** The part of `inputTokens` that was read from the provider's cache. */
  cachedInputTokens: tokens,
  /** The part of `inputTokens` that was written to the provider's cache. */
  cacheWriteTokens: tokens,
  /** All output tokens, reasoning included. */
  outputTokens: tokens,
  /** The part of `outputTokens` that was reasoning. */
  reasoningTokens: tokens,
});
export type Usage = z.infer<typeof usageSchema>;

export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};
