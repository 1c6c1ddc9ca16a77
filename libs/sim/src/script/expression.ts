/**
 * JSONata expressions with bounds: time, recursion depth and length of sequences. An expression sees the conversation as
 * its input, `let` values as variables, and the functions of functions.ts.
 */
import jsonata from 'jsonata';
import { SCRIPT_FUNCTIONS } from './functions.ts';

const TIMEOUT_MS = 1_000;
const STACK_DEPTH_MAX = 500;
const SEQUENCE_LENGTH_MAX = 100_000;

/** A compiled expression. Evaluating rejects with ExpressionError when it fails or runs past its bounds. */
export type Expression = (input: unknown, variables: Record<string, unknown>) => Promise<unknown>;

/** An expression that does not compile or did not evaluate; `message` is one sentence with the place in the source. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** Compiles JSONata source. Throws ExpressionError with the position of a syntax error. */
export function compileExpression(source: string): Expression {
  const compiled = parse(source);
  for (const [name, [implementation, signature]] of Object.entries(SCRIPT_FUNCTIONS)) {
    compiled.registerFunction(name, implementation, signature);
  }
  return async (input, variables) => {
    try {
      return plain(await compiled.evaluate(input, variables));
    } catch (error) {
      throw new ExpressionError(sentence(error, source), { cause: error });
    }
  };
}

function parse(source: string): jsonata.Expression {
  try {
    return jsonata(source, { timeout: TIMEOUT_MS, stack: STACK_DEPTH_MAX, sequence: SEQUENCE_LENGTH_MAX });
  } catch (error) {
    throw new ExpressionError(sentence(error, source), { cause: error });
  }
}

/** JSONata's sequences carry hidden marks; a copy through JSON leaves the value alone. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value) ?? 'null') as unknown);
}

function sentence(error: unknown, source: string): string {
  const { code, message, position } = error as Partial<jsonata.JsonataError>;
  const place = position === undefined ? '' : ` near "${source.slice(Math.max(0, position - 30), position).trim()}"`;
  return `JSONata ${code ?? 'error'}: ${message ?? String(error)}${place}`;
}
