/** A table of JSON texts, and numbers that keep every digit. Pure. */
import { Decimal } from 'decimal.js';

/** A value as JSON text, or undefined where a row has none. */
export type Cell = string | undefined;
export type Table = { columns: string[]; rows: Cell[][] };

/** Sums of as many digits as tables have. */
export const Exact = Decimal.clone({ precision: 100 });
export type ExactNumber = Decimal;

const numberPattern = /^-?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/;

export function isNumber(cell: string): boolean {
  return numberPattern.test(cell);
}

/** For `JSON.stringify`: the number with every digit. */
export function rawNumber(value: ExactNumber): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toFixed());
}
