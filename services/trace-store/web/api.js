/** The traces API with the reader's key. The key stays in this tab's session and is sent nowhere else. */

const storageName = 'pawl.key';

/** What the API answered with, other than what was asked for. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Moves a key from the address (`#key=…`) into the session, so that it is neither shown, kept nor shared. */
export function takeKeyFromAddress() {
  const key = new URLSearchParams(location.hash.slice(1)).get('key');
  if (key === null) return;
  if (key !== '') setKey(key);
  history.replaceState(null, '', location.pathname + location.search);
}

export function getKey() {
  return sessionStorage.getItem(storageName);
}

export function setKey(key) {
  sessionStorage.setItem(storageName, key.trim());
}

export function forgetKey() {
  sessionStorage.removeItem(storageName);
}

/** Up to 50 runs, newest first. */
export async function fetchRuns(filter, cursor) {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  if (cursor) query.set('cursor', cursor);
  const response = await request(`/v1/traces?${query}`);
  return response.json();
}

/** A run with its records and the version of both; undefined when nothing has changed since `version`. */
export async function fetchTrace(runId, version) {
  const headers = version ? { 'if-none-match': version } : {};
  const response = await request(`/v1/traces/${encodeURIComponent(runId)}`, headers);
  if (response.status === 304) return undefined;
  return { version: response.headers.get('etag'), trace: await response.json() };
}

/** The body of a record that was too large to come with its run. */
export async function fetchBody(path) {
  const response = await request(path);
  return response.json();
}

async function request(path, headers = {}) {
  const response = await fetch(path, {
    headers: { authorization: `Bearer ${getKey()}`, ...headers },
    cache: 'no-store',
    credentials: 'omit',
  }).catch(() => undefined);
  if (!response) throw new ApiError(0, 'The service does not answer.');
  if (response.ok || response.status === 304) return response;
  const problem = await response.json().catch(() => ({}));
  throw new ApiError(response.status, problem.detail ?? `The service answered with ${response.status}.`);
}
