/** How people sign in to the page: through the issuer's public client, with a code and PKCE. The page does it by itself. */
import type { TokenVerifier } from '@pawl/service';
import type { Config } from '../config.ts';

export type SignIn = {
  /** What the page needs to know. Throws `UnavailableError` when the issuer has to be asked and can't be. */
  describe(): Promise<SignInDescription>;
  /** Where the page sends its requests for tokens. */
  origins(): string[];
};

export type SignInDescription = {
  clientId: string;
  scope: string;
  parameters: Record<string, string>;
  /** What the issuer says about itself. */
  server: object;
};

/** Absent where the configuration names no client. */
export function signInOf(config: Config, tokens: TokenVerifier | undefined): SignIn | undefined {
  const clientId = config.PAWL_OIDC_CLIENT_ID;
  if (!tokens || clientId === undefined) return undefined;
  const { issuer } = tokens;
  return {
    describe: async () => ({
      clientId,
      scope: config.PAWL_OIDC_SIGN_IN_SCOPE,
      parameters: Object.fromEntries(new URLSearchParams(config.PAWL_OIDC_SIGN_IN_PARAMETERS)),
      server: await issuer.discover(),
    }),
    origins() {
      const tokenEndpoint = issuer.discovered()?.token_endpoint;
      return [...new Set([issuer.issuer, ...(tokenEndpoint === undefined ? [] : [tokenEndpoint])].map(originOf))];
    },
  };
}

function originOf(url: string): string {
  return new URL(url).origin;
}
