/** A value in the words of a line. */
import { ExactNumber, printExact, type ExactValue } from '../record/exact-json.ts';
import { visibleText } from '../record/format.ts';
import type { Words } from '../words/words.tsx';

/** A value within a line. */
export function inlineText(value: ExactValue, { say, digits }: Words): string {
  if (typeof value === 'string') return visibleText(value);
  if (value instanceof ExactNumber) return digits(value.text);
  if (value === true) return say('value.yes');
  if (value === false) return say('value.no');
  return value === null ? say('value.none') : visibleText(printExact(value));
}
