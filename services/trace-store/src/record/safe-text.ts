/**
 * Text that Postgres can hold: no NUL, no lone surrogates. The exact text of a fact stays in the record's body,
 * where both are escapes; what is taken out of it into columns goes through here.
 */

export type Mark = 'nul' | 'lone_surrogate' | 'redacted';

/** The text with each NUL and each lone surrogate replaced by U+FFFD. */
export function safeText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

/** What the strings of a JSON value hold that Postgres text could not, keys included. The value must not be deeply nested. */
export function marksOf(jsonText: string, value: unknown): Mark[] {
  if (!jsonText.includes('\\u') || !/\\u(0000|[dD][89a-fA-F])/.test(jsonText)) return [];
  const marks = new Set<Mark>();
  collectMarks(value, marks);
  return [...marks].toSorted();
}

function collectMarks(value: unknown, marks: Set<Mark>): void {
  if (typeof value === 'string') {
    if (value.includes('\u0000')) marks.add('nul');
    if (!value.isWellFormed()) marks.add('lone_surrogate');
  } else if (Array.isArray(value)) {
    for (const item of value) collectMarks(item, marks);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      collectMarks(key, marks);
      collectMarks(item, marks);
    }
  }
}
