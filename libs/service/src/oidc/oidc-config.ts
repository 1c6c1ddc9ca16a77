/** What every service reads about the issuer whose tokens it takes. */
import { z } from 'zod';
import { objectNameSchema, scopeSchema, type Scope } from '@pawl/contracts';
import type { Log } from '../log.ts';
import { createTokenVerifier, signatureAlgorithms, type TokenVerifier } from './token-verifier.ts';

const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema.optional());
const list = (byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text) => text.split(',').flatMap((item) => item.trim() || []));

/** Over the network only with TLS: who can answer in the issuer's place decides who everybody is. */
const issuerUrl = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => URL.canParse(text) && (new URL(text).protocol === 'https:' || isLoopback(new URL(text).hostname)),
    'must begin with https:// (http:// only for this machine itself)',
  );

const roleScopes =
  'pawl-viewer=runs:read traces budgets, pawl-explainer=traces:explain, ' +
  'pawl-operator=runs:read runs:write traces budgets';

export const oidcConfigShape = {
  /** The issuer of tokens, as they name it in `iss`. Absent: no tokens are taken. */
  PAWL_OIDC_ISSUER: optional(issuerUrl),
  /** Whom tokens have to be made for, by comma: one of these has to be in `aud`. */
  PAWL_OIDC_AUDIENCE: list('pawl').pipe(z.array(z.string()).min(1)),
  /** Where the issuer's keys are, where that is not what its discovery document says. */
  PAWL_OIDC_JWKS_URL: optional(z.url({ protocol: /^https?$/ })),
  /** The claim with the app, or a list of apps. */
  PAWL_OIDC_APP_CLAIM: z.string().min(1).default('pawl_app'),
  /** The app of tokens without that claim. */
  PAWL_OIDC_APP: optional(objectNameSchema),
  /** The claim with the user's id. */
  PAWL_OIDC_USER_CLAIM: z.string().min(1).default('sub'),
  /** Claims with scopes and claims with roles, by comma; all of them count. */
  PAWL_OIDC_SCOPE_CLAIMS: list('scope,scp,permissions'),
  PAWL_OIDC_ROLE_CLAIMS: list('roles,realm_access.roles,groups'),
  /** Scopes that come with a role: `role=scope scope`, by comma. */
  PAWL_OIDC_ROLE_SCOPES: z.string().default(roleScopes).transform(parseRoleScopes),
  PAWL_OIDC_ALGORITHMS: list(signatureAlgorithms.join(',')).pipe(z.array(z.enum(signatureAlgorithms)).min(1)),
  /** By how many seconds the issuer's clock may differ. */
  PAWL_OIDC_CLOCK_LEEWAY_S: z.coerce.number().int().min(0).max(600).default(30),
};

type OidcConfig = z.infer<z.ZodObject<typeof oidcConfigShape>>;

/** The verifier that a configuration describes, which begins to read the issuer's keys; none where no issuer is named. */
export function tokenVerifierOf(config: OidcConfig, log: Log): TokenVerifier | undefined {
  if (config.PAWL_OIDC_ISSUER === undefined) return undefined;
  const verifier = createTokenVerifier({
    issuer: config.PAWL_OIDC_ISSUER,
    jwksUrl: config.PAWL_OIDC_JWKS_URL,
    audience: config.PAWL_OIDC_AUDIENCE,
    algorithms: config.PAWL_OIDC_ALGORITHMS,
    leewayS: config.PAWL_OIDC_CLOCK_LEEWAY_S,
    claims: {
      app: config.PAWL_OIDC_APP_CLAIM,
      appDefault: config.PAWL_OIDC_APP,
      user: config.PAWL_OIDC_USER_CLAIM,
      scopes: config.PAWL_OIDC_SCOPE_CLAIMS,
      roles: config.PAWL_OIDC_ROLE_CLAIMS,
      scopesOfRole: config.PAWL_OIDC_ROLE_SCOPES,
    },
    onFailure: (error) =>
      log.warn({ err: error, issuer: config.PAWL_OIDC_ISSUER }, 'the issuer of tokens does not answer'),
  });
  verifier.issuer.warmUp();
  return verifier;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function parseRoleScopes(text: string, context: z.RefinementCtx): ReadonlyMap<string, readonly Scope[]> {
  const scopesOfRole = new Map<string, readonly Scope[]>();
  for (const item of text.split(',').flatMap((part) => part.trim() || [])) {
    const [role = '', words = ''] = item.split('=', 2).map((part) => part.trim());
    const scopes = z.array(scopeSchema).min(1).safeParse(words.split(/\s+/));
    if (role === '' || !scopes.success) {
      context.addIssue({
        code: 'custom',
        message: `${item}: must be role=scopes, for example pawl-viewer=runs:read traces`,
      });
      return z.NEVER;
    }
    scopesOfRole.set(role, scopes.data);
  }
  return scopesOfRole;
}
