/**
 * The body of a record for people who were not meant to read thoughts: without the model's words beside its calls, without
 * raw errors, without what a fork took over. The final answer is not a thought. Pure.
 */

type Body = Record<string, unknown>;

/** The JSON text of a body without thoughts. What is no JSON object becomes an empty one. */
export function explain(body: string): string {
  const value: unknown = JSON.parse(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '{}';
  return JSON.stringify(withoutThoughts(value as Body));
}

function withoutThoughts(body: Body): Body {
  const { rawError: _raw, seed: _seed, history: _history, attributes: _attributes, events: _events, ...rest } = body;
  if (body['kind'] !== 'thought') return rest;
  const isAnswer = Array.isArray(body['calls']) && body['calls'].length === 0 && isFinal(body['purpose']);
  const { messages: _messages, reasoning: _reasoning, ...shown } = rest;
  return { ...shown, ...(isAnswer ? {} : { text: '' }) };
}

/** Thoughts whose words are the answer, where they ask for no calls. */
function isFinal(purpose: unknown): boolean {
  return purpose === 'think' || purpose === 'conclude';
}
