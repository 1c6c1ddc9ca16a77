/**
 * `${secret:NAME}` in headers and addresses. The values come from the environment and go nowhere but to the tool:
 * they are never stored, logged or shown, and raw errors are searched for them.
 */
import { refusal, type Failure } from '../call/outcome.ts';

/** The value of a secret, or undefined when it is not set. */
export type SecretSource = (name: string) => string | undefined;

const reference = /\$\{secret:([A-Za-z0-9_]{1,100})\}/g;

/** Names of the secrets that a text refers to. */
export function secretNamesIn(text: string): string[] {
  return [...text.matchAll(reference)].map((match) => match[1] ?? '');
}

/** The text with every reference replaced by its value, or the failure that names the first one that is not set. */
export function fillSecrets(text: string, secrets: SecretSource): { text: string } | { failure: Failure } {
  const missing = secretNamesIn(text).find((name) => secrets(name) === undefined);
  if (missing !== undefined) {
    return {
      failure: refusal(
        'secret_missing',
        `The tool needs the secret ${missing}, which is not set.`,
        'Tell the user that this tool is not set up yet; use another tool.',
      ),
    };
  }
  return { text: text.replaceAll(reference, (_all, name: string) => secrets(name) ?? '') };
}

/** A source that remembers which values it gave out, so that stored errors can be searched for them. */
export function rememberSecrets(source: SecretSource): { secrets: SecretSource; values: () => Iterable<string> } {
  const given = new Set<string>();
  return {
    secrets: (name) => {
      const value = source(name);
      if (value !== undefined) given.add(value);
      return value;
    },
    values: () => given,
  };
}
