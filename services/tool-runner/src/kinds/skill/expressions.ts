/**
 * JSONata expressions over JSON texts; source: https://jsonata.org. They end after a bounded time, patterns in them run in
 * linear time (RE2), and a number that a double can't hold goes through digit for digit as long as nobody calculates with it.
 */
import { randomUUID } from 'node:crypto';
import jsonata from 'jsonata';
import { RE2JS } from 're2js';

const evaluateBudgetMs = 250;
const depthMax = 200;
const itemsMax = 200_000;
/** A double holds any decimal number of this many digits. */
const exactDigits = 15;

/** What an expression can't do, in a sentence. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** A sentence on why a text is no expression, or undefined. */
export function expressionProblem(source: string): string | undefined {
  try {
    compile(source);
    return undefined;
  } catch (error) {
    return sentenceOf(error);
  }
}

/** The JSON text of an expression's value over an object, which is JSON text; undefined for no value. Throws `ExpressionError`. */
export async function evaluateExpression(source: string, input: string): Promise<string | undefined> {
  // What stands for a number in the meantime can't be guessed, so no data can pass for one.
  const mark = `#${randomUUID()}:`;
  try {
    const value: unknown = await compile(source).evaluate(parseMarked(input, mark));
    return value === undefined ? undefined : printMarked(value, mark);
  } catch (error) {
    throw new ExpressionError(sentenceOf(error));
  }
}

function compile(source: string): jsonata.Expression {
  return jsonata(source, {
    timeout: evaluateBudgetMs,
    stack: depthMax,
    sequence: itemsMax,
    RegexEngine: LinearRegExp as unknown as RegExpConstructor,
  });
}

function parseMarked(text: string, mark: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    const digits = context.source.replace(/e.*$/i, '').replaceAll(/\D/g, '').replace(/^0+/, '');
    return digits.length > exactDigits ? `${mark}${context.source}` : value;
  });
}

function printMarked(value: unknown, mark: string): string {
  const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
  const pattern = new RegExp(`^${mark}(-?[0-9.eE+-]+)$`);
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== 'string' || !member.includes(mark)) return member;
    const digits = pattern.exec(member)?.[1];
    return digits === undefined ? member.replaceAll(mark, '') : raw(digits);
  });
}

/** JSONata throws plain objects with a message. */
function sentenceOf(error: unknown): string {
  const isTold = typeof error === 'object' && error !== null && 'message' in error;
  return isTold ? String(error.message).slice(0, 300) : 'the expression could not be evaluated';
}

/** As much of `RegExp` as JSONata uses. */
class LinearRegExp {
  lastIndex = 0;
  readonly #pattern: RE2JS;

  constructor({ source, flags }: RegExp) {
    const bits = (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) | (flags.includes('m') ? RE2JS.MULTILINE : 0);
    this.#pattern = RE2JS.compile(RE2JS.translateRegExp(source), bits);
  }

  exec(text: string): (RegExpExecArray & { groups: undefined }) | null {
    const matcher = this.#pattern.matcher(text);
    if (this.lastIndex > text.length || !matcher.find(this.lastIndex)) {
      this.lastIndex = 0;
      return null;
    }
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_unused, at) => matcher.group(at) ?? undefined);
    this.lastIndex = matcher.end();
    return Object.assign(groups as string[], { index: matcher.start(), input: text, groups: undefined }) as ReturnType<
      LinearRegExp['exec']
    >;
  }
}
