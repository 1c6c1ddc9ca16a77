/**
 * Arguments as the model wrote them: JSON text, read once and kept exact.
 * A number beyond 2^53 or with trailing zeros reaches the tool digit for digit, because what is passed on is text.
 * Pure: no I/O. Never throws for what a model may write; the failure says what to correct.
 */
import { maxDepthOf } from './json-slices.ts';

export const argumentsCharsMax = 1_000_000;
export const argumentsDepthMax = 64;

export type Arguments = {
  /** The whole object as compact JSON text with the very digits that were given. */
  text: string;
  /** The object for checks; its numbers are doubles. */
  value: Record<string, unknown>;
  /** JSON text of each argument. */
  members: ReadonlyMap<string, string>;
};

export type ArgumentsFailure = { code: 'invalid_arguments_json' | 'invalid_arguments'; message: string };

/** In what way arguments are too much for anybody, in a sentence, or undefined. Also for text that is not JSON. */
export function boundsProblem(text: string): string | undefined {
  if (text.length > argumentsCharsMax) return `The arguments are longer than ${argumentsCharsMax} characters.`;
  if (maxDepthOf(text) > argumentsDepthMax) return `The arguments are nested deeper than ${argumentsDepthMax} levels.`;
  return undefined;
}

/** Reads a model's argument text. Empty text stands for no arguments. */
export function parseArguments(text: string): { args: Arguments } | { failure: ArgumentsFailure } {
  const source = text.trim() === '' ? '{}' : text;
  const problem = boundsProblem(source);
  if (problem !== undefined) return failure('invalid_arguments', problem);
  try {
    return withValue(JSON.parse(source) as unknown, source);
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    const reason = told.includes('position') ? told : `${told} at position ${source.length}`;
    return failure('invalid_arguments_json', `The arguments are not valid JSON: ${reason}.`);
  }
}

function withValue(value: unknown, source: string): { args: Arguments } | { failure: ArgumentsFailure } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    return failure('invalid_arguments', `The arguments must be a JSON object; got ${found}.`);
  }
  const exact = parseExact(source) as Record<string, unknown>;
  const members = new Map(Object.entries(exact).map(([name, member]) => [name, JSON.stringify(member)]));
  return { args: { text: JSON.stringify(exact), value: value as Record<string, unknown>, members } };
}

type JsonWithRaw = { rawJSON(text: string): unknown };

/** Parses JSON so that `JSON.stringify` gives every number back as it was spelled. */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    const isChanged = typeof value === 'number' && source !== undefined && String(value) !== source;
    return isChanged ? (JSON as unknown as JsonWithRaw).rawJSON(source) : value;
  });
}

/** Compact JSON text of an object that is given as JSON texts of its members. */
export function objectText(members: Iterable<readonly [string, string]>): string {
  return `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

function failure(code: ArgumentsFailure['code'], message: string): { failure: ArgumentsFailure } {
  return { failure: { code, message } };
}
