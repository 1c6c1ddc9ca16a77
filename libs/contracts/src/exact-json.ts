/**
 * Prepares JSON text for hashing: what a JavaScript value can't hold becomes a string that stands for it, so nothing
 * that differs in the text is lost when it is parsed. Numbers are compared by value, whatever their spelling.
 * Works on text of any length and depth without recursion.
 */

/** Starts a stand-in. A string of the text that starts with it gets one more, so no text can imitate a stand-in. */
const MARK = '\\u0000';

/**
 * The same JSON text with stand-ins for numbers that a double can't hold (beyond 2^53, too many digits, too large) and
 * for strings that are not well-formed Unicode. `text` must be valid JSON.
 */
export function exactJson(text: string): string {
  const parts: string[] = [];
  const tokenStart = /["\-\d]/g;
  let copied = 0;
  for (let found = tokenStart.exec(text); found; found = tokenStart.exec(text)) {
    const end = found[0] === '"' ? endOfString(text, found.index) : endOfNumber(text, found.index);
    const token = text.slice(found.index, end);
    const exact = found[0] === '"' ? exactString(token) : exactNumber(token);
    if (exact !== token) {
      parts.push(text.slice(copied, found.index), exact);
      copied = end;
    }
    tokenStart.lastIndex = end;
  }
  return parts.join('') + text.slice(copied);
}

function endOfString(text: string, start: number): number {
  const delimiter = /["\\]/g;
  delimiter.lastIndex = start + 1;
  for (let found = delimiter.exec(text); found; found = delimiter.exec(text)) {
    if (found[0] === '"') return found.index + 1;
    delimiter.lastIndex += 1;
  }
  throw new SyntaxError('a string without an end');
}

function endOfNumber(text: string, start: number): number {
  const after = /[^\d.eE+-]/g;
  after.lastIndex = start + 1;
  return after.exec(text)?.index ?? text.length;
}

function exactString(token: string): string {
  const isPlain = !token.includes('\\u') && token.isWellFormed();
  if (isPlain) return token;
  const value = JSON.parse(token) as string;
  if (value.startsWith('\0')) return `"${MARK}${token.slice(1)}`;
  // JSON.stringify writes a lone surrogate as an escape, which makes it text that canonical JSON takes.
  return value.isWellFormed() ? token : `"${MARK}text:${JSON.stringify(JSON.stringify(value)).slice(1)}`;
}

function exactNumber(token: string): string {
  const isShort = token.length <= 15 && /^-?\d+$/.test(token);
  if (isShort) return token;
  const exact = significant(token);
  const held = Number(token);
  return Number.isFinite(held) && significant(String(held)) === exact ? token : `"${MARK}number:${exact}"`;
}

/** One spelling per value: the digits without zeros around them, and the power of ten. */
function significant(token: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = withoutTrailingZeros(all);
  if (digits === '') return '0';
  return `${sign}${digits}e${BigInt(power.replace('+', '')) - BigInt(fraction.length) + BigInt(all.length - digits.length)}`;
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}
