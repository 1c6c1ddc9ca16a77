/** JSON whose numbers keep every digit, also beyond what a JavaScript number can hold. Pure. */

/** A number as it was written. */
export class ExactNumber {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** The value of JSON text with `ExactNumber` for each number; undefined when it is no JSON or nests too deep. */
export function parseExact(text) {
  try {
    return JSON.parse(text, (_key, value, context) =>
      typeof value === 'number' ? new ExactNumber(context?.source ?? String(value)) : value,
    );
  } catch {
    return undefined;
  }
}

/** Readable text of a value that `parseExact` gave. */
export function printExact(value, indent = '') {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((item) => inner + printExact(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${printExact(item, inner)}`);
  const [open, close] = isList ? '[]' : '{}';
  return lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}
