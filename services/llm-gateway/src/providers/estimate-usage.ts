/**
 * Usage of a call whose provider told none: counted with a tokenizer and marked as estimated by whoever uses it.
 * The tokenizer's tables are loaded at the first need, since most processes never have it.
 */
import type { Usage } from '@pawl/contracts';
import type { RequestBounds } from '../price/model-price.ts';
import type { AssembledReply } from './reply-assembly.ts';

/** Characters that are really counted; the rest is extrapolated, so that a huge text can't stop the process. */
const countedCharactersMax = 200_000;
/** Long runs without a break are slow to tokenize; pieces keep it linear. */
const pieceCharacters = 1_000;

/** The likely usage of a request and what came of its reply; never more than its bounds. */
export async function estimateUsage(
  request: { messages: readonly object[]; tools: readonly object[] },
  reply: Pick<AssembledReply, 'choices' | 'reasoningText'>,
  bounds: RequestBounds,
): Promise<Usage> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  const count = (text: string): number => {
    const counted = text.slice(0, countedCharactersMax);
    let tokens = 0;
    for (let start = 0; start < counted.length; start += pieceCharacters) {
      tokens += countTokens(counted.slice(start, start + pieceCharacters), { disallowedSpecial: new Set() });
    }
    return counted.length === 0 ? 0 : Math.ceil((tokens * text.length) / counted.length);
  };
  const asked = JSON.stringify(request.messages) + (request.tools.length > 0 ? JSON.stringify(request.tools) : '');
  const spoken = reply.choices.map(
    ({ text, refusal, calls }) => text + refusal + calls.map((call) => call.tool + call.args).join(''),
  );
  const reasoningTokens = Math.min(count(reply.reasoningText), bounds.outputTokensMax);
  return {
    inputTokens: Math.min(count(asked), bounds.inputTokensMax),
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: Math.min(reasoningTokens + count(spoken.join('\n')), bounds.outputTokensMax),
    reasoningTokens,
  };
}
