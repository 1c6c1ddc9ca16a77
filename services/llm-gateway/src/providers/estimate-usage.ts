/**
 * Usage of a call whose provider told none: counted with a tokenizer and marked as estimated by whoever uses it.
 * The tokenizer's tables are loaded at the first need, since most processes never have it.
 */
import type { Usage } from '@pawl/contracts';
import type { RequestBounds } from '../price/model-price.ts';
import type { AssembledReply } from './reply-assembly.ts';

/** The likely usage of a request and what came of its reply; never more than its bounds. */
export async function estimateUsage(
  request: { messages: readonly object[]; tools: readonly object[] },
  reply: Pick<AssembledReply, 'choices' | 'reasoningText'>,
  bounds: RequestBounds,
): Promise<Usage> {
  const { countTokens } = await import('@pawl/contracts/tokens');
  const asked = JSON.stringify(request.messages) + (request.tools.length > 0 ? JSON.stringify(request.tools) : '');
  const spoken = reply.choices.map(
    ({ text, refusal, calls }) => text + refusal + calls.map((call) => call.tool + call.args).join(''),
  );
  const reasoningTokens = Math.min(countTokens(reply.reasoningText), bounds.outputTokensMax);
  return {
    inputTokens: Math.min(countTokens(asked), bounds.inputTokensMax),
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: Math.min(reasoningTokens + countTokens(spoken.join('\n')), bounds.outputTokensMax),
    reasoningTokens,
  };
}
