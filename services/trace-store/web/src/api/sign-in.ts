/**
 * Signing in through an OpenID Connect issuer: authorization code with PKCE, by this page alone. Tokens stay in this tab's
 * session, are sent nowhere but to where the page came from and to the issuer, and are renewed where the issuer allows it.
 */
import * as oauth from 'oauth4webapi';

type Description = {
  clientId: string;
  scope: string;
  parameters: Record<string, string>;
  server: oauth.AuthorizationServer;
};

/** What has to be remembered while the reader is at the issuer. */
type UnderWay = { description: Description; verifier: string; state: string; nonce: string; returnTo: string };

type Session = {
  description: Description;
  accessToken: string;
  refreshToken?: string;
  idToken?: string;
  /** Null: the issuer does not tell. */
  expiresAtMs: number | null;
};

const underWayName = 'pawl.signIn';
const sessionName = 'pawl.session';
/** A token is renewed this long before it ends. */
const renewBeforeMs = 30_000;

/** How one can sign in here; undefined where one can't, or where the issuer doesn't answer. */
export async function readSignIn(signal: AbortSignal): Promise<Description | undefined> {
  const response = await fetch('/page/sign-in.json', { signal, credentials: 'omit' });
  if (!response.ok) return undefined;
  const description = (await response.json()) as Description | { server: null };
  return description.server === null ? undefined : description;
}

/** Leaves for the issuer; the reader comes back to where they were. */
export async function startSignIn(description: Description): Promise<void> {
  const verifier = oauth.generateRandomCodeVerifier();
  const underWay: UnderWay = {
    description,
    verifier,
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    returnTo: location.pathname + location.search,
  };
  sessionStorage.setItem(underWayName, JSON.stringify(underWay));
  const address = new URL(description.server.authorization_endpoint ?? '');
  const parameters = {
    ...description.parameters,
    client_id: description.clientId,
    response_type: 'code',
    redirect_uri: redirectUri(),
    scope: description.scope,
    state: underWay.state,
    nonce: underWay.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  location.assign(address);
}

/** Takes up what `startSignIn` began, when the reader comes back. False when it came to nothing. */
export async function finishSignIn(): Promise<boolean> {
  const stored = sessionStorage.getItem(underWayName);
  const parameters = new URLSearchParams(location.search);
  if (stored === null || !parameters.has('state')) return true;
  sessionStorage.removeItem(underWayName);
  const { description, verifier, state, nonce, returnTo } = JSON.parse(stored) as UnderWay;
  history.replaceState(null, '', returnTo);
  const { server } = description;
  const client = { client_id: description.clientId };
  try {
    const accepted = oauth.validateAuthResponse(server, client, parameters, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      accepted,
      redirectUri(),
      verifier,
      requestOptions(server),
    );
    const isSigned = description.scope.split(' ').includes('openid');
    const expected = isSigned ? { expectedNonce: nonce, requireIdToken: true } : {};
    keep(description, await oauth.processAuthorizationCodeResponse(server, client, response, expected));
    return true;
  } catch {
    return false;
  }
}

export function isSignedIn(): boolean {
  return sessionStorage.getItem(sessionName) !== null;
}

let renewal: Promise<Session | undefined> | undefined;

/** The token to send; a new one where the old one is about to end and can be renewed. */
export async function currentToken(): Promise<string | undefined> {
  const session = readSession();
  if (!session) return undefined;
  const isFresh = session.expiresAtMs === null || Date.now() < session.expiresAtMs - renewBeforeMs;
  if (isFresh || session.refreshToken === undefined) return session.accessToken;
  renewal ??= renew(session, session.refreshToken).finally(() => (renewal = undefined));
  return ((await renewal) ?? session).accessToken;
}

async function renew({ description, idToken }: Session, refreshToken: string): Promise<Session | undefined> {
  const { server } = description;
  const client = { client_id: description.clientId };
  try {
    const options = requestOptions(server);
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, options);
    const renewed = await oauth.processRefreshTokenResponse(server, client, response);
    // Who signed out meanwhile stays signed out.
    if (!isSignedIn()) return undefined;
    return keep(description, { refresh_token: refreshToken, ...(idToken && { id_token: idToken }), ...renewed });
  } catch {
    // The old token is sent; where it has ended, the service says so and the reader is asked to sign in again.
    return undefined;
  }
}

/** Forgets the tokens. */
export function endSession(): void {
  sessionStorage.removeItem(sessionName);
}

/** Forgets the tokens, and ends the reader's session at the issuer where it has a place for that. */
export function signOut(): void {
  const session = readSession();
  endSession();
  const end = session?.description.server.end_session_endpoint;
  if (!session || end === undefined) return;
  const address = new URL(end);
  address.searchParams.set('client_id', session.description.clientId);
  address.searchParams.set('post_logout_redirect_uri', redirectUri());
  if (session.idToken !== undefined) address.searchParams.set('id_token_hint', session.idToken);
  location.assign(address);
}

function redirectUri(): string {
  return `${location.origin}/runs`;
}

/** Without TLS only on the reader's own machine: the service takes no other issuer. */
function requestOptions({ issuer }: oauth.AuthorizationServer) {
  return { [oauth.allowInsecureRequests]: new URL(issuer).protocol === 'http:' };
}

type Tokens = Pick<oauth.TokenEndpointResponse, 'access_token' | 'expires_in' | 'refresh_token' | 'id_token'>;

function keep(description: Description, tokens: Tokens): Session {
  const { access_token, expires_in, refresh_token, id_token } = tokens;
  const session: Session = {
    description,
    accessToken: access_token,
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    ...(id_token === undefined ? {} : { idToken: id_token }),
    expiresAtMs: expires_in === undefined ? null : Date.now() + expires_in * 1_000,
  };
  sessionStorage.setItem(sessionName, JSON.stringify(session));
  return session;
}

function readSession(): Session | undefined {
  const stored = sessionStorage.getItem(sessionName);
  return stored === null ? undefined : (JSON.parse(stored) as Session);
}
