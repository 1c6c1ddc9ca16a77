/** Reading what users type: numbers, JSON, and values that a schema has to accept. */
import { purposes, type ForkRun, type Purpose } from '@pawl/contracts';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { CommandError } from './command-error.ts';

export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > 86_400) {
    throw new InvalidArgumentError('give a whole number of seconds from 0 to 86400.');
  }
  return seconds;
}

export function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 200)
    throw new InvalidArgumentError('give a number from 1 to 200.');
  return limit;
}

export function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('give a whole number.');
  return Number(text);
}

/** A JSON object as it was typed; its digits stay. */
export function parseJsonObjectText(text: string): string {
  try {
    z.record(z.string(), z.unknown()).parse(JSON.parse(text));
    return text;
  } catch {
    throw new InvalidArgumentError(`give a JSON object in quotes, for example '{"amount": 50}'.`);
  }
}

/** Gathers `purpose=route` of an option that may be given several times. */
export function parseModel(text: string, before: ForkRun['models'] = {}): ForkRun['models'] {
  const [purpose = '', route = '', ...rest] = text.split('=');
  if (!purposes.includes(purpose as Purpose) || route === '' || rest.length > 0) {
    throw new InvalidArgumentError(`give purpose=route; a purpose is one of ${purposes.join(', ')}.`);
  }
  return { ...before, [purpose]: route };
}

/** The value as the schema has it. Throws `CommandError` that says what is wrong. */
export function accept<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CommandError(`this can't be asked for:\n${z.prettifyError(parsed.error)}`);
}
