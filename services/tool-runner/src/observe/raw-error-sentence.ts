/**
 * From the raw text of an error to one plain sentence with what to try (E1), where the text is of a known kind. The list is data.
 * The raw text itself stays with engineers. Pure, in linear time.
 */
import { boundedPattern } from '@pawl/calls';
import known from './raw-errors.json' with { type: 'json' };

const compiled = known.map(({ pattern, message, suggestion }) => ({
  pattern: boundedPattern(pattern),
  message,
  suggestion,
}));
const charsMax = 16_000;

/** Undefined where the text is of no known kind. */
export function explainRawError(text: string): { message: string; suggestion: string } | undefined {
  const searched = text.slice(0, charsMax);
  for (const { pattern, message, suggestion } of compiled) {
    const match = pattern.exec(searched);
    if (!match) continue;
    const name = match.groups?.['name'];
    const about = name === undefined ? '' : `: ${name.replaceAll('"', '')}`;
    return { message: `${message}${about}.`, suggestion };
  }
  return undefined;
}
