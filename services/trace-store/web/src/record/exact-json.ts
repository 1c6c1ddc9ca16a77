/** JSON whose numbers keep every digit, also beyond what a JavaScript number can hold. Pure. */

/** A number as it was written. */
export class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** What JSON text holds, with `ExactNumber` in the place of numbers. */
export type ExactValue = string | boolean | null | ExactNumber | ExactValue[] | { [key: string]: ExactValue };
export type ExactRecord = { [key: string]: ExactValue };

/** The value of JSON text with `ExactNumber` for each number; undefined when it is no JSON or nests too deep. */
export function parseExact(text: string): ExactValue | undefined {
  const revive = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? new ExactNumber(context?.source ?? String(value)) : value;
  try {
    return JSON.parse(text, revive) as ExactValue;
  } catch {
    return undefined;
  }
}

/** Readable text of a value that `parseExact` gave. */
export function printExact(value: ExactValue, indent = ''): string {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((item) => inner + printExact(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${printExact(item, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  return lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

/** Whether it is an object with keys. */
export function isExactRecord(value: ExactValue | undefined): value is ExactRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Whether it is no list and no object. */
export function isScalar(value: ExactValue): value is string | boolean | null | ExactNumber {
  return typeof value !== 'object' || value === null || value instanceof ExactNumber;
}
