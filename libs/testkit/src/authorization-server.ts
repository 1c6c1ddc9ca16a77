/**
 * A real OpenID Connect provider on this machine, for tests: discovery, client credentials, authorization code with PKCE
 * and refresh tokens; access tokens are JWTs. Who signs in is asked for a name and nothing else.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Provider, type ClientMetadata, type KoaContextWithOIDC } from 'oidc-provider';

type Registered = {
  /** What its tokens may ask for. */
  scope?: string;
  /** Further claims of its tokens. */
  claims?: Record<string, unknown>;
};

type AuthorizationServerOptions = {
  audience: string;
  /** Programs that get tokens for themselves, by client id; the secret is `secret-of-<id>`. */
  programs?: Record<string, Registered>;
  /** People, by name. */
  people?: Record<string, Registered>;
  /** How long access tokens last. Default 300 s. */
  tokenTtlS?: number;
};

type SigningKey = { kid: string; privateKey: KeyObject; publicKey: KeyObject };

type PublicClient = { id: string; redirectUri: string };

export type AuthorizationServer = {
  issuer: string;
  /** A token by client credentials. */
  tokenOf(program: string): Promise<string>;
  /** Takes up the public client that people sign in through, and where it may send them back to. */
  registerPublicClient(client: PublicClient): void;
  /** What it signs with now. */
  signingKey(): SigningKey;
  /** From now on it signs with another key, and publishes that one alone. */
  rotateKey(): void;
  /** Paths that were asked for. */
  asked: string[];
  /** Nobody answers any more, until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
};

/** Starts one. The port stays the same over `stop` and `start`. */
export async function startAuthorizationServer(options: AuthorizationServerOptions): Promise<AuthorizationServer> {
  let key = newKey(1);
  let publicClient: PublicClient | undefined;
  let provider: Provider | undefined;
  let server: Server | undefined;
  let port = 0;
  const asked: string[] = [];
  const issuer = () => `http://127.0.0.1:${port}`;
  const start = async () => {
    server = createServer((request, response) => {
      asked.push(request.url?.split('?')[0] ?? '');
      provider ??= createProvider(issuer(), { ...options, key, publicClient });
      void answer(provider, request, response);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  await start();
  return {
    issuer: issuer(),
    async tokenOf(program) {
      const response = await fetch(`${issuer()}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${program}:secret-of-${program}`)}` },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          scope: options.programs?.[program]?.scope ?? '',
        }),
      });
      const body = (await response.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
    registerPublicClient(client) {
      publicClient = client;
      provider = undefined;
    },
    signingKey: () => key,
    rotateKey() {
      key = newKey(Number(key.kid.slice(4)) + 1);
      provider = undefined;
    },
    asked,
    async stop() {
      const closed = server && once(server, 'close');
      server?.close();
      server?.closeAllConnections();
      await closed;
      server = undefined;
    },
    start,
  };
}

function newKey(number: number): SigningKey {
  return { kid: `key-${number}`, ...generateKeyPairSync('rsa', { modulusLength: 2_048 }) };
}

const resource = 'urn:pawl';

type ProviderOptions = AuthorizationServerOptions & { key: SigningKey; publicClient: PublicClient | undefined };

function createProvider(issuer: string, of: ProviderOptions): Provider {
  const { audience, programs = {}, people = {}, publicClient, tokenTtlS = 300, key } = of;
  const registered = { ...programs, ...people };
  const scopes = [...new Set(Object.values(registered).flatMap(({ scope = '' }) => scope.split(' ')))];
  const scope = scopes.filter((word) => word !== '').join(' ');
  return new Provider(issuer, {
    clients: clientsOf(programs, publicClient),
    scopes: ['openid', 'offline_access', ...scopes.filter((word) => word !== '')],
    jwks: { keys: [{ ...key.privateKey.export({ format: 'jwk' }), kid: key.kid, alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['only for tests'] },
    clientBasedCORS: () => true,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_context, { uid }) => `/sign-in/${uid}` },
    loadExistingGrant: (context) => grantEverything(context, scope),
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: tokenTtlS,
      ClientCredentials: tokenTtlS,
      Interaction: 600,
      Session: 3_600,
      Grant: 3_600,
      IdToken: 600,
      RefreshToken: 3_600,
    },
    extraTokenClaims: (_context, token) => registered[nameOf(token)]?.claims,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => {
          context.body = `${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign out</button>`;
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope, audience, accessTokenFormat: 'jwt', accessTokenTTL: tokenTtlS }),
      },
    },
  });
}

function clientsOf(programs: Record<string, Registered>, publicClient: PublicClient | undefined): ClientMetadata[] {
  const clients: ClientMetadata[] = Object.keys(programs).map((id) => ({
    client_id: id,
    client_secret: `secret-of-${id}`,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    ...(programs[id]?.scope === undefined ? {} : { scope: programs[id].scope }),
  }));
  if (publicClient) {
    clients.push({
      client_id: publicClient.id,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [publicClient.redirectUri],
      post_logout_redirect_uris: [publicClient.redirectUri],
      response_types: ['code'],
    });
  }
  return clients;
}

function nameOf(token: { clientId?: string | undefined; accountId?: string }): string {
  return token.accountId ?? token.clientId ?? '';
}

/** Nobody is asked for consent. */
async function grantEverything({ oidc }: KoaContextWithOIDC, scope: string) {
  const grant = new oidc.provider.Grant({
    clientId: oidc.client?.clientId ?? '',
    accountId: oidc.session?.accountId ?? '',
  });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(resource, scope);
  await grant.save();
  return grant;
}

async function answer(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', provider.issuer);
  if (!url.pathname.startsWith('/sign-in/')) return provider.callback()(request, response);
  const name = url.searchParams.get('name');
  if (name !== null) {
    const login = { login: { accountId: name } };
    return await provider.interactionFinished(request, response, login, { mergeWithLastSubmission: false });
  }
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<h1>Sign in</h1><form><label>Name <input name="name"></label> <button>Go on</button></form>');
}
