/**
 * Counting tokens, with the tokenizer of OpenAI's current models; other providers' counts differ by some per cent. A module of
 * its own, since its tables take tens of megabytes. Pure.
 */
import { countTokens as countExactly } from 'gpt-tokenizer/encoding/o200k_base';

/** Characters that are really counted; the rest is extrapolated. */
const countedCharactersMax = 200_000;
/** A tokenizer takes quadratic time for a run without a break, as Chinese, base64 and blanks are; short pieces keep it linear. */
const pieceCharacters = 200;
/** What looks like a mark of a chat is text like any other. */
const plain = { disallowedSpecial: new Set<string>() };

/** Tokens of a text, within some per cent, in time linear in its length and bounded. Never throws. */
export function countTokens(text: string): number {
  const counted = text.slice(0, countedCharactersMax);
  let tokens = 0;
  for (let start = 0; start < counted.length; start += pieceCharacters) {
    tokens += countExactly(counted.slice(start, start + pieceCharacters), plain);
  }
  return counted.length === 0 ? 0 : Math.ceil((tokens * text.length) / counted.length);
}
