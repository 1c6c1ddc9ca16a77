/** What an app does with Pawl from TypeScript: start runs, follow them, answer them, declare objects. */
import { randomUUID } from 'node:crypto';
import { registryPaths, type CreateRun, type ForkRun, type Limits, type RunView } from '@pawl/contracts';
import type { RegistryObject, Scope } from '@pawl/contracts';
import type { ApprovalDecision, CreatedKey, RunSignal, SpendReport, StoredObject, ToolResult } from './answers.ts';
import { createRequests, type Requests } from './requests.ts';
import { readRunEvents, type EventsOptions, type RunEvent } from './run-events.ts';
import { untilRest } from './until-rest.ts';

export type ClientOptions = {
  /** Where Pawl answers, for example `http://localhost:7300`. */
  baseUrl: string;
  /** A key of an app, or the admin key. */
  key: string;
};

type WaitOptions = {
  /** Seconds to wait, until the run has ended, pauses or waits for people, before answering. Default 0. */
  waitSeconds?: number;
  signal?: AbortSignal;
};

/** Starting runs and looking at them. */
export type RunReading = {
  /** Starts a run. The same `idempotencyKey` never starts a second one; without one, a random one covers repeated requests. */
  startRun(run: CreateRun, options?: WaitOptions & { idempotencyKey?: string }): Promise<RunView>;
  getRun(id: string, options?: WaitOptions): Promise<RunView>;
  /** A page of runs, newest first; `next` is the `cursor` of the following one, null on the last. */
  listRuns(options?: {
    status?: RunView['status'];
    agent?: string;
    cursor?: string;
    /** At the most, 1-200. Default 50. */
    limit?: number;
  }): Promise<{ items: RunView[]; next: string | null }>;
  /** All runs that only wait for people, newest first; what for is in `pending`. */
  listPending(options?: { agent?: string }): Promise<RunView[]>;
  /** A run's events up to its end, as they happen; a broken connection is resumed without gap or repeat. */
  events(id: string, options?: EventsOptions & FollowOptions): AsyncIterable<RunEvent>;
};

export type FollowOptions = {
  /** Also stop when the run pauses or only waits for people. Default false. */
  untilRest?: boolean;
};

/**
 * What people say to runs. Except for a cancel, each is sent one time: after `unreachable`, look at the run before you say it
 * again. All throw `run_ended` when the run has ended (but a fork), and answer with the run.
 */
export type RunWords = {
  /** Asks a run to stop. Idempotent. */
  cancelRun(id: string, reason?: string): Promise<RunView>;
  /** Decides on a call of `pending`, with its `argsHash`. Throws `conflict` when the decision no longer applies. */
  decideApproval(id: string, callId: string, decision: ApprovalDecision): Promise<RunView>;
  /** Tells a run something: its next thought reads it. Answers the question that the run has asked, if it has. */
  sendSignal(id: string, signal: RunSignal): Promise<RunView>;
  /** Goes on with a paused run, with the given limits in place of its own. Throws `conflict` when it is not paused. */
  resumeRun(id: string, limits?: Limits): Promise<RunView>;
  /** Starts a new run that takes over the steps before `fromStep`. Its writes are blocked without `allowWrites`. */
  forkRun(id: string, fork: ForkRun): Promise<RunView>;
};

/** Declaring objects, trying tools, keys, reports. */
export type Workbench = {
  /** Stores an object of any kind under its own name. Idempotent. */
  putObject(object: RegistryObject): Promise<StoredObject>;
  /**
   * Calls a declared tool outside of any run. A string is the arguments as JSON text, which arrives digit for digit. What the
   * tool did not manage is in the result; throws only when it could not be tried.
   */
  callTool(
    name: string,
    args?: Record<string, unknown> | string,
    options?: { idempotencyKey?: string },
  ): Promise<ToolResult>;
  /** What model calls cost, summed by columns such as `agent`, `model`, `user`, `run`, `day`; dearest first. */
  readSpend(options?: { by?: readonly string[]; from?: string; to?: string }): Promise<SpendReport>;
  /** A new key of an app, with every scope unless told; needs the admin key. */
  createKey(options: { app: string; scopes?: Scope[]; expiresAt?: string }): Promise<CreatedKey>;
};

/** Every method throws `PawlError`; an aborted signal throws its reason. What may be repeated is, while nobody answers. */
export type PawlClient = RunReading & RunWords & Workbench;

/** Makes a client; nothing is sent before the first call. */
export function createClient(options: ClientOptions): PawlClient {
  const requests = createRequests(options);
  return { ...runReading(requests), ...runWords(requests), ...workbench(requests) };
}

function runReading(requests: Requests): RunReading {
  const reading: RunReading = {
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
    listRuns: (page = {}) => requests.json({ method: 'GET', path: `/v1/runs${queryOf(page)}` }),
    async listPending(of = {}) {
      const runs: RunView[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await reading.listRuns({ ...of, ...(cursor && { cursor }), status: 'waiting', limit: 200 });
        runs.push(...page.items);
        cursor = page.next;
      }
      return runs;
    },
    events(id, { untilRest: isUntilRest = false, ...how } = {}) {
      const events = readRunEvents(requests, id, how);
      const readRun = () => reading.getRun(id, { waitSeconds: 5, ...(how.signal && { signal: how.signal }) });
      return isUntilRest ? untilRest(events, readRun) : events;
    },
  };
  return reading;
}

function runWords(requests: Requests): RunWords {
  return {
    cancelRun: (id, reason) =>
      requests.json({ method: 'POST', path: `${runPath(id)}/cancel`, body: reason === undefined ? {} : { reason } }),
    decideApproval: (id, callId, decision) =>
      requests.json({
        method: 'POST',
        path: `${runPath(id)}/approvals/${encodeURIComponent(callId)}`,
        body: decision,
        isOnce: true,
      }),
    sendSignal: (id, signal) =>
      requests.json({ method: 'POST', path: `${runPath(id)}/signals`, body: signal, isOnce: true }),
    resumeRun: (id, limits) =>
      requests.json({ method: 'POST', path: `${runPath(id)}/resume`, body: limits ? { limits } : {}, isOnce: true }),
    forkRun: (id, fork) => requests.json({ method: 'POST', path: `${runPath(id)}/fork`, body: fork, isOnce: true }),
  };
}

function workbench(requests: Requests): Workbench {
  return {
    putObject: (object) =>
      requests.json({
        method: 'PUT',
        path: `/v1/${registryPaths[object.kind]}/${encodeURIComponent(object.metadata.name)}`,
        body: object,
      }),
    callTool: (name, args = {}, { idempotencyKey } = {}) =>
      requests.json({
        method: 'POST',
        path: `/v1/tools/${encodeURIComponent(name)}/call`,
        bodyText: `{"args":${typeof args === 'string' ? args : JSON.stringify(args)}}`,
        ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
        isOnce: true,
      }),
    readSpend: ({ by, from, to } = {}) =>
      requests.json({ method: 'GET', path: `/v1/spend${queryOf({ by: by?.join(','), from, to })}` }),
    createKey: (key) => requests.json({ method: 'POST', path: '/v1/keys', body: key, isOnce: true }),
  };
}

function runPath(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`;
}

function queryOf(values: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
