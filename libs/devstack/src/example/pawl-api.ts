/**
 * The few requests that the development stack makes to Pawl itself.
 */
import { registryPaths } from '@pawl/contracts';
import type { RegistryObject, RunView } from '@pawl/contracts';
import { DevstackError } from '../devstack-error.ts';

export interface PawlApi {
  /** Stores an object under its own name. Idempotent. */
  putObject(object: RegistryObject): Promise<void>;
  /** A new key of an app with every scope. */
  createKey(app: string): Promise<string>;
  /** Whether the key in use is accepted. */
  isKeyAccepted(): Promise<boolean>;
  startRun(agent: string, input: string): Promise<RunView>;
  getRun(runId: string): Promise<RunView>;
  /** The run's facts as server-sent events, after `lastEventId`. */
  openEvents(runId: string, lastEventId: string | undefined, signal: AbortSignal): Promise<Response>;
}

/** `key` is the admin's or an app's. Every method throws a DevstackError when the answer is not a success. */
export function createPawlApi(url: string, key: string): PawlApi {
  const authorization = { authorization: `Bearer ${key}` };

  async function send(method: string, path: string, body?: unknown): Promise<Response> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    throw new DevstackError(`${method} ${path} was answered with ${response.status}: ${await explain(response)}`);
  }

  return {
    async putObject(object) {
      const response = await send('PUT', `/v1/${registryPaths[object.kind]}/${object.metadata.name}`, object);
      await response.body?.cancel();
    },
    async createKey(app) {
      const response = await send('POST', '/v1/keys', { app, scopes: ['*'] });
      return ((await response.json()) as { key: string }).key;
    },
    async isKeyAccepted() {
      const response = await fetch(`${url}/v1/runs`, { headers: authorization });
      await response.body?.cancel();
      return response.ok;
    },
    startRun: async (agent, input) => (await send('POST', '/v1/runs', { agent, input })).json() as Promise<RunView>,
    getRun: async (runId) => (await send('GET', `/v1/runs/${runId}`)).json() as Promise<RunView>,
    openEvents: (runId, lastEventId, signal) =>
      fetch(`${url}/v1/runs/${runId}/events`, {
        headers: {
          ...authorization,
          accept: 'text/event-stream',
          ...(lastEventId && { 'last-event-id': lastEventId }),
        },
        signal,
      }),
  };
}

/** The sentence of a problem document, or the bare text. */
async function explain(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { detail, code } = JSON.parse(text) as { detail?: string; code?: string };
    return detail ? `${detail} (${code ?? 'no code'})` : text;
  } catch {
    return text;
  }
}
