/** What an app does with Pawl from TypeScript: start runs, follow them, declare objects. */
import { randomUUID } from 'node:crypto';
import { registryPaths, type CreateRun, type RegistryObject, type RunView } from '@pawl/contracts';
import { createRequests } from './requests.ts';
import { readRunEvents, type EventsOptions, type RunEvent } from './run-events.ts';

export type ClientOptions = {
  /** Where Pawl answers, for example `http://localhost:7300`. */
  baseUrl: string;
  /** A key of an app, or the admin key. */
  key: string;
};

/** A declared object as it is kept. */
export type StoredObject = RegistryObject & { revision: string; updatedAt: string };

type WaitOptions = {
  /** Seconds to wait for the run's end before answering. Default 0. */
  waitSeconds?: number;
  signal?: AbortSignal;
};

/** Every method throws `PawlError`; an aborted signal throws its reason. Requests are repeated while nobody answers. */
export type PawlClient = {
  /** Starts a run. The same `idempotencyKey` never starts a second one; without one, a random one covers repeated requests. */
  startRun(run: CreateRun, options?: WaitOptions & { idempotencyKey?: string }): Promise<RunView>;
  getRun(id: string, options?: WaitOptions): Promise<RunView>;
  /** Asks a run to stop. Throws `run_ended` when it has ended. */
  cancelRun(id: string, reason?: string): Promise<RunView>;
  /** A page of runs, newest first; `next` is the `cursor` of the following one, null on the last. */
  listRuns(options?: {
    status?: RunView['status'];
    agent?: string;
    cursor?: string;
    /** At the most, 1-200. Default 50. */
    limit?: number;
  }): Promise<{ items: RunView[]; next: string | null }>;
  /** A run's events up to its end, as they happen; a broken connection is resumed without gap or repeat. */
  events(id: string, options?: EventsOptions): AsyncIterable<RunEvent>;
  /** Stores an object of any kind under its own name. Idempotent. */
  putObject(object: RegistryObject): Promise<StoredObject>;
};

/** Makes a client; nothing is sent before the first call. */
export function createClient(options: ClientOptions): PawlClient {
  const requests = createRequests(options);
  const runPath = (id: string) => `/v1/runs/${encodeURIComponent(id)}`;
  return {
    startRun: (run, { idempotencyKey = randomUUID(), waitSeconds, signal } = {}) =>
      requests.json({
        method: 'POST',
        path: `/v1/runs${queryOf({ wait: waitSeconds })}`,
        body: run,
        headers: { 'idempotency-key': idempotencyKey },
        signal,
      }),
    getRun: (id, { waitSeconds, signal } = {}) =>
      requests.json({ method: 'GET', path: `${runPath(id)}${queryOf({ wait: waitSeconds })}`, signal }),
    cancelRun: (id, reason) =>
      requests.json({ method: 'POST', path: `${runPath(id)}/cancel`, body: reason === undefined ? {} : { reason } }),
    listRuns: (page = {}) => requests.json({ method: 'GET', path: `/v1/runs${queryOf(page)}` }),
    events: (id, events) => readRunEvents(requests, id, events),
    putObject: (object) =>
      requests.json({
        method: 'PUT',
        path: `/v1/${registryPaths[object.kind]}/${encodeURIComponent(object.metadata.name)}`,
        body: object,
      }),
  };
}

function queryOf(values: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
