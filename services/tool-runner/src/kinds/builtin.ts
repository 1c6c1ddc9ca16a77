/** Tool kind `builtin`: the calculator, the present time, and reading on in a result that was cut. Reads only. */
import { z } from 'zod';
import { RejectedError, type Tool } from '@pawl/contracts';
import { refusal, type Outcome } from '../call/outcome.ts';
import { calculate, CalculationError } from './builtin/calculator.ts';
import { currentTime } from './builtin/current-time.ts';
import { readResult } from './builtin/read-result.ts';
import type { ResultStore } from '../results/result-store.ts';
import type { Kind, KindCall } from './kind.ts';
import { declaredParameters } from './sql.ts';

type BuiltinName = NonNullable<Tool['spec']['builtin']>['name'];
/** The orchestrator answers the others itself: they steer the loop. */
type ExecutedName = Exclude<BuiltinName, 'ask_user' | 'direct_answer'>;

const argumentsOf = {
  calculator: z.object({ expression: z.string().min(1) }),
  current_time: z.object({ timeZone: z.string().nullish() }),
  read_result: z.object({
    ref: z.string().min(1),
    offset: z.int().nonnegative().nullish(),
    line: z.int().nonnegative().nullish(),
    row: z.int().nonnegative().nullish(),
    path: z.string().max(1_000).nullish(),
    limit: z.int().positive().nullish(),
  }),
} as const satisfies Record<ExecutedName, z.ZodType>;

const needed: Readonly<Record<BuiltinName, readonly string[]>> = {
  calculator: ['expression'],
  current_time: [],
  read_result: ['ref'],
  ask_user: ['question'],
  direct_answer: ['answer'],
};

export type BuiltinKindOptions = { results: ResultStore; now: () => number };

export function createBuiltinKind(options: BuiltinKindOptions): Kind {
  return {
    check: checkBuiltin,
    close: async () => {},
    async execute(call) {
      switch (call.tool.spec.builtin?.name) {
        case 'calculator':
          return withArguments('calculator', call, ({ expression }) => calculation(expression));
        case 'current_time':
          return withArguments('current_time', call, ({ timeZone }) =>
            currentTime(options.now(), timeZone ?? undefined),
          );
        case 'read_result':
          return await withArguments('read_result', call, ({ ref, offset, line, row, path, limit }) =>
            readResult(options.results, {
              app: call.app,
              runId: call.runId,
              ref,
              offset: offset ?? 0,
              line: line ?? undefined,
              row: row ?? undefined,
              path: path ?? undefined,
              limit: limit ?? undefined,
              maxChars: call.maxChars,
              signal: call.signal,
            }),
          );
        case 'ask_user':
        case 'direct_answer':
          return refusal('not_supported', 'This tool only has a meaning within a run.');
        case undefined:
          throw new TypeError('not a tool of kind builtin');
      }
    },
  };
}

/** The tool's own schema was checked before; this holds what the built-in itself needs, whatever that schema says. */
function withArguments<N extends ExecutedName>(
  name: N,
  call: KindCall,
  body: (args: z.infer<(typeof argumentsOf)[N]>) => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  const parsed = argumentsOf[name].safeParse(call.args.value);
  if (parsed.success) return body(parsed.data as z.infer<(typeof argumentsOf)[N]>);
  const sentences = parsed.error.issues.map((issue) => `/${issue.path.join('/')}: ${issue.message}.`);
  return refusal('invalid_arguments', sentences.join(' '));
}

function calculation(expression: string): Outcome {
  try {
    const { result, isRounded } = calculate(expression);
    const data = `{"expression":${JSON.stringify(expression)},"result":${result}}`;
    return { kind: 'result', data, ...(isRounded ? { note: 'The result is rounded.' } : {}) };
  } catch (error) {
    if (!(error instanceof CalculationError)) throw error;
    return refusal('invalid_arguments', error.message, 'Correct the expression, for example 248.50 * 100.');
  }
}

function checkBuiltin(tool: Tool): void {
  const { builtin, parameters, effect } = tool.spec;
  if (!builtin) throw new TypeError('not a tool of kind builtin');
  if (effect === 'write') throw new RejectedError('not_supported', 'spec.effect: built-in tools only read');
  const declared = declaredParameters(parameters);
  const missing = needed[builtin.name].filter((name) => !declared.has(name));
  if (missing.length > 0) {
    throw new RejectedError(
      'invalid_request',
      `spec.parameters.properties has to declare ${missing.join(', ')} for ${builtin.name}`,
    );
  }
}
