/**
 * An OpenID Connect issuer as Pawl knows it: its discovery document and its public keys, both kept.
 *
 * Keys are read again every ten minutes while they are in use, and at once for a token whose key is not known, but no more
 * often than every ten seconds whatever is sent. An issuer that doesn't answer changes nothing for keys that are known.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { UnavailableError } from '@pawl/contracts';

export type IssuerOptions = {
  /** As tokens name it in `iss`, digit for digit. */
  issuer: string;
  /** Where its keys are; else where its discovery document says. */
  jwksUrl?: string | undefined;
  /** How long each request to it may take. Default 5 s. */
  timeoutMs?: number;
  /** How old keys may get before they are read again. Default 10 min. */
  refreshAfterMs?: number;
  /** How long an unknown key waits after the keys were read. Default 10 s. */
  refetchAfterMs?: number;
  /** How long nobody asks after a failure. Default 1 s. */
  retryAfterMs?: number;
  now?: () => number;
  /** Told about each failure to reach the issuer. */
  onFailure?: (error: unknown) => void;
};

const discoverySchema = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  authorization_endpoint: z.url().optional(),
  token_endpoint: z.url().optional(),
  end_session_endpoint: z.url().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
});
/** Of an issuer's discovery document, what is used. */
export type Discovery = z.infer<typeof discoverySchema>;
const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

export type Issuer = {
  issuer: string;
  /** The key of a token, as jose asks for it. Throws `UnavailableError` when the issuer would have to be asked and can't be. */
  findKey: JWTVerifyGetKey;
  /** Reads the keys, so that they are known before the first token comes; a failure is told to `onFailure` alone. */
  warmUp(): void;
  /** What it says about itself. Throws `UnavailableError`. */
  discover(): Promise<Discovery>;
  /** What it said when it was last asked. */
  discovered(): Discovery | undefined;
};

export function createIssuer(options: IssuerOptions): Issuer {
  const { refreshAfterMs = 600_000, refetchAfterMs = 10_000, now = Date.now } = options;
  let discovery: Discovery | undefined;
  let keys: { find: JWTVerifyGetKey; readAt: number } | undefined;

  const discover = createOnceAtATime(options, async () => {
    const { issuer } = options;
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const found = discoverySchema.parse(await readJson(url, options.timeoutMs));
    if (found.issuer !== issuer) throw new TypeError(`the document at ${url} is of another issuer`);
    discovery = found;
    return found;
  });
  const readKeys = createOnceAtATime(options, async () => {
    const url = options.jwksUrl ?? (await discover()).jwks_uri;
    const found = keySetSchema.parse(await readJson(url, options.timeoutMs)) as JSONWebKeySet;
    keys = { find: createLocalJWKSet(found), readAt: now() };
    return keys;
  });

  return {
    issuer: options.issuer,
    async findKey(header, token) {
      const known = keys ?? (await readKeys());
      const ageMs = now() - known.readAt;
      if (ageMs > refreshAfterMs) void readKeys().catch(() => undefined);
      try {
        return await known.find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || ageMs < refetchAfterMs) throw error;
        return await (await readKeys()).find(header, token);
      }
    },
    warmUp: () => void readKeys().catch(() => undefined),
    discover: async () => discovery ?? (await discover()),
    discovered: () => discovery,
  };
}

/** One request for all who wait for it, and none for a moment after a failure. */
function createOnceAtATime<T>(
  { issuer, retryAfterMs = 1_000, now = Date.now, onFailure = () => {} }: IssuerOptions,
  body: () => Promise<T>,
): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  let failed: { error: UnavailableError; at: number } | undefined;
  const attempt = async () => {
    try {
      return await body();
    } catch (error) {
      failed = { error: new UnavailableError(`the issuer of tokens, ${issuer}, does not answer`, error), at: now() };
      if (!(error instanceof UnavailableError)) onFailure(error);
      throw failed.error;
    } finally {
      underWay = undefined;
    }
  };
  return async () => {
    if (failed && now() - failed.at < retryAfterMs) throw failed.error;
    underWay ??= attempt();
    return await underWay;
  };
}

async function readJson(url: string, timeoutMs = 5_000): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new TypeError(`${url} answered with ${response.status}`);
  return await response.json();
}
