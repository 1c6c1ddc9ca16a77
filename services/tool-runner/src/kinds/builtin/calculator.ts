/**
 * Exact decimal arithmetic: `+ - * / ^`, `%`, parentheses, and `min max round abs sqrt`. Pure; a small parser, no evaluation of code.
 *
 * `a % b` is the remainder; `a%` with nothing to take after it is a percentage. `^` binds to the right and before a leading
 * minus, so `-2^2` is -4. Sums and products are exact up to 100 digits; quotients and roots are rounded to 28.
 */
import { Decimal } from 'decimal.js';

const Exact = Decimal.clone({ precision: 100, rounding: Decimal.ROUND_HALF_UP, maxE: 1_000, minE: -1_000 });
type Value = InstanceType<typeof Exact>;

const expressionCharsMax = 1_000;
const depthMax = 50;
const exponentMax = 1_000;
const digitsShownMax = 28;
const digitsExactMax = 60;

/** Thrown for what the caller has to correct, with a sentence. */
export class CalculationError extends Error {
  override readonly name = 'CalculationError';
}

export type Calculation = {
  /** Decimal digits, valid as a JSON number. */
  result: string;
  isRounded: boolean;
};

/** Throws `CalculationError`. */
export function calculate(expression: string): Calculation {
  if (expression.length > expressionCharsMax) {
    throw new CalculationError(`The expression is longer than ${expressionCharsMax} characters.`);
  }
  const reader = createReader(tokensOf(expression));
  const value = readSum(reader, 0);
  const rest = reader.peek();
  if (rest) throw new CalculationError(`Expected an operator at character ${rest.at + 1}; got "${rest.text}".`);
  if (!value.isFinite()) throw new CalculationError('The result is too large or not defined.');
  const isRounded = value.precision() > digitsExactMax;
  const shown = isRounded ? value.toSignificantDigits(digitsShownMax) : value;
  return { result: shown.isZero() ? '0' : shown.toFixed(), isRounded };
}

type Token = { kind: 'number' | 'name' | 'sign'; text: string; at: number };
type Reader = { peek(ahead?: number): Token | undefined; take(): Token | undefined };

const tokenPattern =
  /\s*(?:(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?)|(?<name>[A-Za-z]+)|(?<sign>\*\*|[-+*/^%(),×÷−·]))/y;
const plainSign = new Map([
  ['×', '*'],
  ['·', '*'],
  ['÷', '/'],
  ['−', '-'],
  ['**', '^'],
]);

function tokensOf(expression: string): Token[] {
  const tokens: Token[] = [];
  const text = expression.trimEnd();
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < text.length) {
    const start = tokenPattern.lastIndex;
    const groups = tokenPattern.exec(text)?.groups;
    if (!groups) {
      const at = start + (text.slice(start).length - text.slice(start).trimStart().length);
      throw new CalculationError(`The character "${text.charAt(at)}" at position ${at + 1} can't be used here.`);
    }
    const { number, name, sign } = groups;
    const found = number ?? name ?? sign ?? '';
    const kind = number !== undefined ? 'number' : name !== undefined ? 'name' : 'sign';
    tokens.push({ kind, text: plainSign.get(found) ?? found, at: tokenPattern.lastIndex - found.length });
  }
  return tokens;
}

function createReader(tokens: readonly Token[]): Reader {
  let next = 0;
  return {
    peek: (ahead = 0) => tokens[next + ahead],
    take: () => {
      next += 1;
      return tokens[next - 1];
    },
  };
}

function readSum(reader: Reader, depth: number): Value {
  if (depth > depthMax) throw new CalculationError(`The expression is nested deeper than ${depthMax} levels.`);
  let left = readProduct(reader, depth);
  for (let token = reader.peek(); token?.text === '+' || token?.text === '-'; token = reader.peek()) {
    reader.take();
    const right = readProduct(reader, depth);
    left = token.text === '+' ? left.plus(right) : left.minus(right);
  }
  return left;
}

function readProduct(reader: Reader, depth: number): Value {
  let left = readSigned(reader, depth);
  for (;;) {
    const sign = reader.peek()?.text;
    if (sign !== '*' && sign !== '/' && sign !== '%') return left;
    reader.take();
    const right = readSigned(reader, depth);
    if (sign !== '*' && right.isZero()) throw new CalculationError('Division by zero.');
    left = sign === '*' ? left.times(right) : sign === '/' ? left.dividedBy(right) : left.modulo(right);
  }
}

function readSigned(reader: Reader, depth: number): Value {
  const sign = reader.peek()?.text;
  if (sign !== '-' && sign !== '+') return readPower(reader, depth);
  reader.take();
  if (depth > depthMax) throw new CalculationError(`The expression is nested deeper than ${depthMax} levels.`);
  const value = readSigned(reader, depth + 1);
  return sign === '-' ? value.negated() : value;
}

function readPower(reader: Reader, depth: number): Value {
  const base = readPercent(reader, depth);
  if (reader.peek()?.text !== '^') return base;
  reader.take();
  const exponent = readSigned(reader, depth + 1);
  if (exponent.abs().greaterThan(exponentMax)) throw new CalculationError(`Exponents go up to ${exponentMax}.`);
  const power = base.toPower(exponent);
  if (power.isNaN()) throw new CalculationError('A negative number has no such power.');
  return power;
}

/** A `%` that no operand follows is a percentage. */
function readPercent(reader: Reader, depth: number): Value {
  let value = readAtom(reader, depth);
  while (reader.peek()?.text === '%' && !beginsOperand(reader.peek(1))) {
    reader.take();
    value = value.dividedBy(100);
  }
  return value;
}

function beginsOperand(token: Token | undefined): boolean {
  return token !== undefined && (token.kind !== 'sign' || token.text === '(');
}

function readAtom(reader: Reader, depth: number): Value {
  const token = reader.take();
  if (!token) throw new CalculationError('The expression ends where a number was expected.');
  if (token.kind === 'number') return new Exact(token.text);
  if (token.kind === 'name') return readCall(reader, token, depth);
  if (token.text !== '(')
    throw new CalculationError(`Expected a number at character ${token.at + 1}; got "${token.text}".`);
  const value = readSum(reader, depth + 1);
  expectSign(reader, ')');
  return value;
}

function expectSign(reader: Reader, sign: string): void {
  const token = reader.take();
  if (token?.text === sign) return;
  const found = token ? `got "${token.text}" at character ${token.at + 1}` : 'the expression ends';
  const hint = token?.text === ',' ? ' Write numbers without thousands separators.' : '';
  throw new CalculationError(`Expected "${sign}"; ${found}.${hint}`);
}

const functions: Readonly<Record<string, { from: number; to: number; apply(values: Value[]): Value }>> = {
  min: { from: 1, to: 100, apply: (values) => Exact.min(...values) },
  max: { from: 1, to: 100, apply: (values) => Exact.max(...values) },
  abs: { from: 1, to: 1, apply: ([value = zero]) => value.abs() },
  sqrt: { from: 1, to: 1, apply: ([value = zero]) => squareRoot(value) },
  round: { from: 1, to: 2, apply: ([value = zero, places = zero]) => round(value, places) },
};
const zero = new Exact(0);

function readCall(reader: Reader, { text, at }: Token, depth: number): Value {
  const called = Object.hasOwn(functions, text.toLowerCase()) ? functions[text.toLowerCase()] : undefined;
  if (!called) {
    throw new CalculationError(
      `There is no function ${text} (at character ${at + 1}). There are ${Object.keys(functions).join(', ')}.`,
    );
  }
  expectSign(reader, '(');
  const values = [readSum(reader, depth + 1)];
  while (reader.peek()?.text === ',') {
    reader.take();
    values.push(readSum(reader, depth + 1));
  }
  expectSign(reader, ')');
  if (values.length < called.from || values.length > called.to) {
    throw new CalculationError(`${text} takes ${called.from} to ${called.to} values; got ${values.length}.`);
  }
  return called.apply(values);
}

function squareRoot(value: Value): Value {
  if (value.isNegative() && !value.isZero()) throw new CalculationError('A negative number has no square root.');
  return value.squareRoot();
}

function round(value: Value, places: Value): Value {
  if (!places.isInteger() || places.abs().greaterThan(100))
    throw new CalculationError('round takes 0 to 100 decimal places.');
  if (places.isNegative() && !places.isZero()) throw new CalculationError('round takes 0 to 100 decimal places.');
  return value.toDecimalPlaces(places.toNumber());
}
