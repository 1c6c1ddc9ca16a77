/** Whether a call may be made with its arguments: nothing is executed with what doesn't fit the tool's schema. */
import type { Tool } from '@pawl/contracts';
import type { ArgumentValidator } from './argument-validator.ts';
import { parseArguments, type Arguments } from './arguments.ts';

/** The arguments as the tool gets them, or what is wrong with them in words that a model can act on. */
export type AdmittedArguments =
  | { args: Arguments }
  | { failure: { code: 'invalid_arguments_json' | 'invalid_arguments'; message: string; suggestion: string } };

/** What a tool without declared parameters takes. */
const anyObject = { type: 'object' } as const;

/** Reads and checks the arguments of a call as the model wrote them. */
export function admitArguments(
  validator: ArgumentValidator,
  { metadata, spec }: Tool,
  text: string,
): AdmittedArguments {
  const suggestion = `Correct the arguments and call ${metadata.name} again.`;
  const parsed = parseArguments(text);
  if ('failure' in parsed) return { failure: { ...parsed.failure, suggestion } };
  const { args } = parsed;
  const verdict = validator.validate(spec.parameters ?? anyObject, { value: args.value, charCount: args.text.length });
  if (verdict.isValid) return { args };
  return { failure: { code: 'invalid_arguments', message: verdict.message, suggestion } };
}
