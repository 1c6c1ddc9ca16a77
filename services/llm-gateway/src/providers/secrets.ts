/** `${secret:NAME}` in declared objects. Values are never logged and never leave in a message. */

const reference = /\$\{secret:([A-Za-z0-9_]{1,100})\}/g;

export type SecretSource = (name: string) => string | undefined;

/** The text with every reference replaced, or the names that have no value. */
export function resolveSecrets(text: string, find: SecretSource): { text: string } | { missing: string[] } {
  const missing: string[] = [];
  const resolved = text.replaceAll(reference, (_match, name: string) => {
    const value = find(name);
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return missing.length > 0 ? { missing } : { text: resolved };
}

/**
 * Secrets from an environment: `${secret:NAME}` is the variable `PAWL_SECRET_NAME` and no other. Whoever may declare objects
 * could else send any variable of the service, such as its database URL, to an address of their own.
 */
export function createSecretSource(environment: Record<string, string | undefined>): SecretSource {
  return (name) => environment[`PAWL_SECRET_${name}`] || undefined;
}
