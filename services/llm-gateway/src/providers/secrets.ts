/** `${secret:NAME}` in declared objects. Values are never logged and never leave in a message. */

const reference = /\$\{secret:([A-Za-z0-9_]{1,100})\}/g;

/** The value of a secret as an app sees it. */
export type SecretSource = (app: string, name: string) => string | undefined;

/** The text with every reference replaced, or the names that have no value. */
export function resolveSecrets(
  text: string,
  find: (name: string) => string | undefined,
): { text: string } | { missing: string[] } {
  if (!text.includes('${')) return { text };
  const missing: string[] = [];
  const resolved = text.replaceAll(reference, (_match, name: string) => {
    const value = find(name);
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return missing.length > 0 ? { missing } : { text: resolved };
}

/**
 * Secrets from an environment: `${secret:NAME}` of app `my-shop` is the variable `PAWL_SECRET_MY_SHOP_NAME`, else
 * `PAWL_SECRET_NAME`, which is for all apps unless it reads as the own variable of one of the others. No other variable is ever
 * read: whoever may declare objects could else send what belongs to the service, such as its database URL, to an address of
 * their own. `apps`: all that there are.
 */
export function createSecretSource(
  variables: Readonly<Record<string, string | undefined>>,
  apps: () => readonly string[],
): SecretSource {
  return (app, name) =>
    [`${prefixOf(app)}${name}`, name]
      .filter((key) => !belongsToOther(key, app, apps()))
      .map((key) => variables[`PAWL_SECRET_${key}`])
      .find((value) => value !== undefined && value !== '');
}

/** A key that begins like several apps belongs to the one with the longest name. */
function belongsToOther(key: string, app: string, apps: readonly string[]): boolean {
  const [owner] = apps
    .filter((other) => key.startsWith(prefixOf(other)))
    .toSorted((a, b) => prefixOf(b).length - prefixOf(a).length);
  return owner !== undefined && prefixOf(owner) !== prefixOf(app);
}

function prefixOf(app: string): string {
  return `${app.toUpperCase().replaceAll('-', '_')}_`;
}
