/**
 * `${secret:NAME}` in headers and addresses. The values go nowhere but to the tool: they are never stored, logged or shown, and
 * raw errors are searched for them. An app gets its own secrets and those for all apps, never another app's.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refusal, type Failure } from '../call/outcome.ts';

/** The value of a secret, or undefined when it is not set. */
export type SecretSource = (name: string) => string | undefined;

/** The secrets that an app may use. */
export type AppSecrets = (app: string) => SecretSource;

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
export function rememberSecrets(source: AppSecrets): { secrets: AppSecrets; values: () => Iterable<string> } {
  const given = new Set<string>();
  return {
    secrets: (app) => (name) => {
      const value = source(app)(name);
      if (value !== undefined) given.add(value);
      return value;
    },
    values: () => given,
  };
}

export type SecretsOptions = {
  /** Variables of the environment; only those that begin with `PAWL_SECRET_` are looked at. */
  variables: Readonly<Record<string, string | undefined>>;
  /** Where secrets are mounted as files, `<app>/<NAME>`. Read at each use, so a changed file counts at once. */
  folder: string | undefined;
  /** All apps there are: one app's variable must not be another's by the accident of its name. */
  apps: () => readonly string[];
};

const namePattern = /^[A-Za-z0-9_]{1,100}$/;
const fileBytesMax = 65_536;

/**
 * For app `my-shop` and name `TOKEN`: the file `my-shop/TOKEN`, else `PAWL_SECRET_MY_SHOP_TOKEN`, else `PAWL_SECRET_TOKEN`, which is
 * for all apps unless it reads as the own variable of one of the others.
 */
export function createSecrets({ variables, folder, apps }: SecretsOptions): AppSecrets {
  return (app) => (name) => {
    if (!namePattern.test(name)) return undefined;
    const file = folder === undefined ? undefined : readSecretFile(join(folder, app, name));
    if (file !== undefined) return file;
    return [`${prefixOf(app)}${name}`, name]
      .filter((key) => !belongsToOther(key, app, apps()))
      .map((key) => variables[`PAWL_SECRET_${key}`])
      .find((value) => value !== undefined && value !== '');
  };
}

function prefixOf(app: string): string {
  return `${app.toUpperCase().replaceAll('-', '_')}_`;
}

/** A key that begins like several apps belongs to the one with the longest name. */
function belongsToOther(key: string, app: string, apps: readonly string[]): boolean {
  const own = key.startsWith(prefixOf(app)) ? prefixOf(app).length : 0;
  return apps.some((other) => other !== app && prefixOf(other).length > own && key.startsWith(prefixOf(other)));
}

/** What a file holds, without the line end that editors add. */
function readSecretFile(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    return text.length > fileBytesMax || text.trim() === '' ? undefined : text.replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}
