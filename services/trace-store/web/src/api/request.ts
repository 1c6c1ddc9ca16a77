/**
 * Requests with the reader's key, or with the token of who has signed in. Both stay in this tab's session and are sent nowhere
 * but to where the page came from.
 */
import { forgetAppChoice, readAppChoice } from './app-choice.ts';
import { currentToken, endSession, isSignedIn } from './sign-in.ts';

const storageName = 'pawl.key';

type ProblemTold = { detail?: string; code?: string; apps?: string[] };

/** What an API answered with, other than what was asked for. `status` 0: nobody answered. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** The apps of which the request has to name one. */
  readonly apps: string[] | undefined;
  constructor(status: number, problem: ProblemTold) {
    super(problem.detail ?? '');
    this.status = status;
    this.code = problem.code;
    this.apps = problem.apps;
  }
}

/** Moves a key from the address (`#key=…`) into the session, so that it is neither shown, kept nor shared. */
export function takeKeyFromAddress(): void {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key === null) return;
  if (key !== '') setKey(key);
  history.replaceState(null, '', location.pathname + location.search);
}

/** Whether the reader has a key or has signed in. */
export function hasCredential(): boolean {
  return sessionStorage.getItem(storageName) !== null || isSignedIn();
}

export function setKey(key: string): void {
  sessionStorage.setItem(storageName, key.trim());
}

export function forgetCredential(): void {
  sessionStorage.removeItem(storageName);
  forgetAppChoice();
  endSession();
}

export type RequestOptions = {
  method?: 'GET' | 'POST';
  /** JSON text. */
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** The response to a request that was accepted. Throws ApiError otherwise. */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', body, headers = {}, signal } = options;
  const credential = sessionStorage.getItem(storageName) ?? (await currentToken());
  const app = readAppChoice()?.app;
  const response = await fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${credential}`,
      ...(app == null ? {} : { 'x-pawl-app': app }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    cache: 'no-store',
    credentials: 'omit',
    ...(body === undefined ? {} : { body }),
    ...(signal ? { signal } : {}),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    return undefined;
  });
  if (!response) throw new ApiError(0, {});
  if (response.ok || response.status === 304) return response;
  throw new ApiError(response.status, await readProblem(response));
}

/** The JSON of a response to a GET. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal ? { signal } : {});
  return (await response.json()) as T;
}

/** Sends JSON, and gives the JSON that comes back. */
export async function postJson<T>(path: string, body: string): Promise<T> {
  const response = await request(path, { method: 'POST', body });
  return (await response.json().catch(() => ({}))) as T;
}

async function readProblem(response: Response): Promise<ProblemTold> {
  const body: unknown = await response.json().catch(() => undefined);
  if (typeof body !== 'object' || body === null) return {};
  const { detail, code, apps } = body as Record<string, unknown>;
  return {
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(typeof code === 'string' ? { code } : {}),
    ...(Array.isArray(apps) && apps.every((app) => typeof app === 'string') ? { apps } : {}),
  };
}
