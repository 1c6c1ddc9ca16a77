/**
 * Takes JSON through code that reads numbers as doubles without losing a digit: a number that a double can't hold is replaced
 * by a marked text on the way in and put back on the way out. Pure but for the mark, which can't be guessed by data.
 */
import { randomUUID } from 'node:crypto';

export type ExactNumbers = {
  /** JSON text with such numbers as marked texts. */
  mark(json: string): string;
  /** JSON text of a value that was parsed from marked text. */
  print(value: unknown): string;
};

/** A double holds any decimal number of this many digits. */
const exactDigits = 15;

export function createExactNumbers(): ExactNumbers {
  const prefix = `#${randomUUID()}:`;
  const whole = new RegExp(`^${prefix}(-?[0-9.eE+-]+)$`);
  const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
  return {
    mark: (json) => markNumbers(json, prefix),
    print: (value) =>
      JSON.stringify(value, (_key, member: unknown) => {
        if (typeof member !== 'string' || !member.includes(prefix)) return member;
        const digits = whole.exec(member)?.[1];
        return digits === undefined ? member.replaceAll(prefix, '') : raw(digits);
      }) ?? 'null',
  };
}

/** One pass over the text; nothing is copied where there is no such number. */
function markNumbers(json: string, prefix: string): string {
  const pieces: string[] = [];
  let copied = 0;
  for (let at = 0; at < json.length;) {
    const code = json.charCodeAt(at);
    if (code === 34) at = endOfString(json, at);
    else if (code === 45 || isDigit(code)) {
      const end = endOfNumber(json, at);
      if (isInexact(json.slice(at, end))) {
        pieces.push(json.slice(copied, at), `"${prefix}${json.slice(at, end)}"`);
        copied = end;
      }
      at = end;
    } else at += 1;
  }
  return pieces.length === 0 ? json : pieces.join('') + json.slice(copied);
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json.charCodeAt(at) !== 34) at += json.charCodeAt(at) === 92 ? 2 : 1;
  return at + 1;
}

function endOfNumber(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && isNumberPart(json.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Digits, `.`, `e`, `E`, `+`, `-`. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 46 || code === 101 || code === 69 || code === 43 || code === 45;
}

function isInexact(text: string): boolean {
  if (text.length <= exactDigits) return false;
  const [digits = ''] = text.split(/e/i);
  return digits.replaceAll(/\D/g, '').replace(/^0+/, '').length > exactDigits;
}
