/**
 * JSONata expressions over JSON texts; source: https://jsonata.org. They end after a bounded time, patterns in them run in
 * linear time (RE2), and a number that a double can't hold goes through digit for digit as long as nobody calculates with it.
 */
import jsonata from 'jsonata';
import { RE2JS } from 're2js';
import { createExactNumbers } from '../../arguments/exact-numbers.ts';

const evaluateBudgetMs = 250;
const depthMax = 200;
const itemsMax = 200_000;
const exact = createExactNumbers();

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
  try {
    const value: unknown = await compile(source).evaluate(JSON.parse(exact.mark(input)));
    return value === undefined ? undefined : exact.print(value);
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
