/** Structured answers: the final text as JSON that fits the agent's schema. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fingerprint, RejectedError, type AgentSpec } from '@pawl/contracts';

type Validator = (value: unknown) => string | undefined;

const validators = new Map<string, Validator>();
const validatorsMax = 500;

/** What is wrong with an answer, as a sentence that the model can act on, or undefined when it is fine. */
export function answerMistake(spec: AgentSpec, text: string): string | undefined {
  if (!spec.answer) return undefined;
  try {
    return validatorOf(spec.answer.schema)(JSON.parse(unwrap(text)));
  } catch {
    return 'The answer is not JSON.';
  }
}

/** The answer itself: the JSON without what models like to put around it. */
export function answerOf(spec: AgentSpec, text: string): string {
  return spec.answer ? unwrap(text) : text;
}

/** Throws `RejectedError` when the schema of an agent's answer can't be used. */
export function checkAnswerSchema(spec: AgentSpec): void {
  if (!spec.answer) return;
  try {
    validatorOf(spec.answer.schema);
  } catch (error) {
    throw new RejectedError(
      'invalid_request',
      `answer.schema: ${error instanceof Error ? error.message : 'not usable'}`,
    );
  }
}

function unwrap(text: string): string {
  return text
    .trim()
    .replace(/^```(?:json)?\s*\n?/, '')
    .replace(/\n?```$/, '')
    .trim();
}

function validatorOf(schema: Record<string, unknown>): Validator {
  const key = fingerprint(schema);
  const known = validators.get(key);
  if (known) return known;
  const validate = new Ajv2020({ strict: false, allErrors: true, ownProperties: true }).compile(schema);
  const validator: Validator = (value) => {
    if (validate(value)) return undefined;
    const mistakes = (validate.errors ?? [])
      .slice(0, 5)
      .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
    return `The answer does not fit its schema: ${mistakes.join('; ')}.`;
  };
  if (validators.size >= validatorsMax) validators.clear();
  validators.set(key, validator);
  return validator;
}
