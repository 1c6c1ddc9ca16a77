/**
 * What a server asks a person in the middle of a call (elicitation, form mode). A call can't wait for days, so it is told that nobody has
 * answered yet, and the run learns what to ask. Once a person has answered this very question in the run, the next call that is asked
 * it gives the answer: the words of a person, bound to the words that the person read. Must not take a model's word for a person's.
 */
import type { ArgumentValidator } from '@pawl/calls';

/** What a person has answered in the run to exactly this question, as JSON text. */
export type AnswerTo = (question: string) => Promise<string | undefined>;

export type Elicited = { message: string; requestedSchema?: unknown };

export type ElicitAnswer = { action: 'accept'; content: Record<string, never> } | { action: 'cancel' };

/** The answer for the server; a question that has none, or none that fits, is added to `questions`. */
export async function answerElicitation(
  { message, requestedSchema }: Elicited,
  context: { answerTo: AnswerTo | undefined; validator: ArgumentValidator; questions: string[] },
): Promise<ElicitAnswer> {
  const schema = isObject(requestedSchema) ? requestedSchema : {};
  const question = message.slice(0, questionCharsMax);
  const answer = await context.answerTo?.(question);
  const content = answer === undefined ? undefined : contentOf(answer, schema);
  if (content !== undefined && answer !== undefined) {
    const verdict = context.validator.validate(schema, { value: content, charCount: answer.length });
    if (verdict.isValid) return { action: 'accept', content: content as Record<string, never> };
    context.questions.push(`${sentenceOf(question, schema)} The answer so far doesn't fit: ${verdict.message}`);
    return { action: 'cancel' };
  }
  context.questions.push(sentenceOf(question, schema));
  return { action: 'cancel' };
}

const questionCharsMax = 2_000;
const fieldsMax = 30;

function sentenceOf(question: string, schema: Record<string, unknown>): string {
  const fields = fieldsOf(schema).slice(0, fieldsMax);
  const form = fields.length > 1 ? ` The answer has to be JSON with ${fields.map(([name]) => name).join(', ')}.` : '';
  return `${JSON.stringify(question)}.${form}`;
}

function fieldsOf(schema: Record<string, unknown>): [string, Record<string, unknown>][] {
  const { properties } = schema;
  if (!isObject(properties)) return [];
  return Object.entries(properties).map(([name, field]) => [name, isObject(field) ? field : {}]);
}

/** An object as it stands; anything else is the value of the one field that is asked for. */
function contentOf(answer: string, schema: Record<string, unknown>): Record<string, unknown> | undefined {
  const value = parsed(answer);
  const inner = typeof value === 'string' ? parsed(value) : value;
  if (isObject(inner)) return inner;
  const [only, ...others] = fieldsOf(schema);
  if (!only || others.length > 0) return undefined;
  const [name, { type }] = only;
  if (type === 'boolean') return { [name]: yesOrNo(inner) };
  return { [name]: type === 'string' ? String(value) : inner };
}

const yes = new Set(['yes', 'y', 'true', 'sim', '是', 'ok']);
const no = new Set(['no', 'n', 'false', 'não', 'nao', '否']);

function yesOrNo(value: unknown): unknown {
  const word = typeof value === 'string' ? value.trim().toLowerCase().replace(/[.!]$/, '') : value;
  if (typeof word !== 'string') return word;
  return yes.has(word) ? true : no.has(word) ? false : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
