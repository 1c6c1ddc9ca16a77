/**
 * The key that a tool declares for its effects, a CEL expression over `args`: the same refund is one effect, whatever the words, the
 * step or the run it is asked for in. Pure. Source of the language: https://cel.dev
 */
import { parse } from '@marcbachmann/cel-js';
import { canonicalJson, sha256 } from '@pawl/contracts';
import { createExactNumbers } from '../arguments/exact-numbers.ts';

type Compiled = (context: Record<string, unknown>) => unknown;

const exact = createExactNumbers();
const compiled = new Map<string, Compiled>();
const compiledMax = 1_000;

/** A sentence on why an expression can't be a business key, or undefined. */
export function businessKeyProblem(expression: string): string | undefined {
  try {
    compile(expression);
    return undefined;
  } catch (error) {
    return sentenceOf(error);
  }
}

/** The key of an effect; a sentence when the arguments have none. `args` is JSON text. */
export function businessKeyOf(
  { app, tool, expression }: { app: string; tool: string; expression: string },
  args: string,
): { key: string } | { problem: string } {
  try {
    // Numbers that a double can't hold stay apart from their neighbours.
    const value = compile(expression)({ args: JSON.parse(exact.mark(args)) as unknown });
    if (!isKey(value)) return { problem: 'it gives no text, number or list of them' };
    const text = exact.print(typeof value === 'bigint' ? String(value) : value);
    return { key: sha256(canonicalJson(['business key', app, tool, text])) };
  } catch (error) {
    return { problem: sentenceOf(error) };
  }
}

function isKey(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isKey);
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'bigint';
}

function sentenceOf(error: unknown): string {
  const [first = 'not CEL'] = (error instanceof Error ? error.message : String(error)).split('\n');
  return first.slice(0, 300);
}

function compile(expression: string): Compiled {
  const known = compiled.get(expression);
  if (known) return known;
  const fresh = parse(expression) as Compiled;
  if (compiled.size >= compiledMax) compiled.clear();
  compiled.set(expression, fresh);
  return fresh;
}
