/**
 * The page with an API that is played: runs are lists of facts that a test writes, live ones grow while they are looked at.
 * It speaks the forms of the outside (traces, runs, events, approvals, budgets) and remembers what it was asked to do.
 */
import type { ServerResponse } from 'node:http';
import { problem, slotOf, viewNanoUsd, type Fact, type PendingCall, type RunView } from '@pawl/contracts';
import { createHttp, createLog, sendProblem, type Http } from '@pawl/service';
import { compressJson } from '../../src/http/compress-json.ts';
import { servePage } from '../../src/http/page.ts';
import type { TracedRun } from '../../src/http/run-view.ts';
import { recordOfFact, type TraceRecord } from '../src/record/trace.ts';
import { playOverviews } from './played-overviews.ts';

export const key = 'key-of-demo';
const inlineBytesMax = 65_536;
const totalBytesMax = 4_194_304;

export type PlayedRun = {
  id: string;
  facts: Fact[];
  /** Records that are no facts, such as spans of other agents. */
  spans?: TraceRecord[];
  missing?: string[];
  unreadable?: { slot: string; reason: string; sizeBytes: number }[];
  pending?: PendingCall[];
  /** Of the list and the head; derived from the facts otherwise. */
  run?: Partial<TracedRun>;
};

export type Asked = { method: string; path: string; body: unknown; text: string };

export type PlayedFile = { type: string; bytes: Buffer };

export type PlayedApi = {
  url: string;
  asked: Asked[];
  put(run: PlayedRun): void;
  /** Adds a fact, also to the open event streams. */
  say(runId: string, fact: Fact): void;
  delta(runId: string, text: string): void;
  /** A file of a tool, at its path below `/v1/tools/results/`, with any type, also one that the tool-runner would never answer with. */
  putFile(path: string, file: PlayedFile): void;
  /** What calls of a path are answered with from now on, for example a refusal. */
  answerWith(path: string, answer: { status: number; body: object }): void;
  /** Ends the open event streams, as a broken connection does. */
  cutStreams(): void;
  stop(): Promise<void>;
};

type State = {
  runs: Map<string, PlayedRun>;
  files: Map<string, PlayedFile>;
  streams: Map<string, Set<ServerResponse>>;
  asked: Asked[];
  answers: Map<string, { status: number; body: object }>;
};

export async function startPlayedApi(): Promise<PlayedApi> {
  const state: State = { runs: new Map(), files: new Map(), streams: new Map(), asked: [], answers: new Map() };
  const { http, listen } = await createHttp({
    name: 'played',
    log: createLog('played', 'silent'),
    checks: { nats: () => true, database: () => true, facts: () => true },
  });
  compressJson(http);
  await servePage(http);
  http.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/v1/')) return undefined;
    if (request.headers.authorization !== `Bearer ${key}`)
      return sendProblem(reply, problem('unauthorized', 'wrong key'));
    const answer = state.answers.get(request.url.split('?')[0] ?? '');
    return answer && reply.code(answer.status).send(answer.body);
  });
  playTraces(http, state);
  playRuns(http, state);
  playOverviews(http);
  playFiles(http, state);
  const listening = listen({ host: '127.0.0.1', port: 0 });
  await listening.start();
  const streamsOf = (runId: string) => state.streams.get(runId) ?? new Set<ServerResponse>();
  return {
    url: listening.url(),
    asked: state.asked,
    put: (run) => void state.runs.set(run.id, run),
    say(runId, fact) {
      const facts = state.runs.get(runId)?.facts ?? [];
      facts.push(fact);
      for (const stream of streamsOf(runId)) stream.write(eventOf(fact, facts.length));
    },
    delta(runId, text) {
      const data = JSON.stringify({ step: 1, text });
      for (const stream of streamsOf(runId)) stream.write(`event: delta\ndata: ${data}\n\n`);
    },
    putFile: (path, file) => void state.files.set(path, file),
    answerWith: (path, answer) => void state.answers.set(path, answer),
    cutStreams() {
      for (const streams of state.streams.values()) for (const stream of streams) stream.destroy();
    },
    async stop() {
      for (const streams of state.streams.values()) for (const stream of streams) stream.destroy();
      await listening.stop();
    },
  };
}

function playTraces(http: Http, { runs }: State): void {
  http.get('/v1/traces', async (request) => {
    const { status, stopReason, agent, parent, text, cursor } = request.query as Record<string, string | undefined>;
    // A search looks for a moment at a time and says where to go on.
    if (text !== undefined && cursor !== 'far back')
      return { items: [], next: cursor === 'back' ? 'far back' : 'back' };
    const items = [...runs.values()]
      .map(tracedRun)
      .filter(
        (run) =>
          (status === undefined || run.status === status) &&
          (stopReason === undefined || run.stopReason === stopReason) &&
          (agent === undefined || run.agent === agent) &&
          (parent === undefined || run.parent?.runId === parent) &&
          (text === undefined || run.question?.includes(text) === true),
      )
      .toSorted((left, right) => ((left.startedAt ?? '') < (right.startedAt ?? '') ? 1 : -1));
    return { items, next: null };
  });
  http.get<{ Params: { id: string } }>('/v1/traces/:id', async (request, reply) => {
    const run = runs.get(request.params.id);
    if (!run) return sendProblem(reply, problem('unknown_run', 'the app has no run with this id'));
    const { missing = [], unreadable = [] } = run;
    return { run: tracedRun(run), records: [...recordsOf(run), ...(run.spans ?? [])], missing, unreadable };
  });
  http.get<{ Params: { id: string; slot: string } }>('/v1/traces/:id/records/:slot', async (request, reply) => {
    const fact = runs.get(request.params.id)?.facts.find((each) => slotOf(each) === request.params.slot);
    return fact ?? sendProblem(reply, problem('not_found', 'the app has no such record'));
  });
}

function recordsOf({ id, facts }: PlayedRun): TraceRecord[] {
  let total = 0;
  return facts.map((fact, at) => {
    const slot = slotOf(fact);
    const { body, ...record } = recordOfFact(fact, { seq: at + 1, slot });
    const bytes = JSON.stringify(body).length;
    const isLarge = bytes > inlineBytesMax || total + bytes > totalBytesMax;
    if (!isLarge) total += bytes;
    return isLarge ? { ...record, bodyRef: `/v1/traces/${id}/records/${slot}` } : { ...record, body: fact };
  });
}

function tracedRun({ id, facts, pending, run }: PlayedRun): TracedRun {
  const started = facts.find((fact) => fact.kind === 'started');
  const ended = facts.findLast((fact) => fact.kind === 'ended');
  const stopped = ended ?? facts.findLast((fact) => fact.kind === 'paused');
  const lastAt = facts.at(-1)?.at ?? '2026-03-02T08:00:00.000Z';
  const status = ended ? 'ended' : stopped ? 'paused' : (pending?.length ?? 0) > 0 ? 'waiting' : 'running';
  const spent = facts.reduce((sum, fact) => (fact.kind === 'thought' ? sum + BigInt(fact.costNanoUsd) : sum), 0n);
  return {
    id,
    app: 'demo',
    agent: started?.agent.name ?? null,
    revision: started?.agent.revision ?? null,
    status,
    stopReason: stopped?.stopReason ?? (status === 'waiting' ? 'waiting_approval' : null),
    detail: stopped?.detail ?? null,
    question: started?.input ?? null,
    answer: stopped?.answer ?? null,
    partial: stopped?.partial ?? false,
    steps: facts.filter(({ kind }) => kind === 'acted').length,
    toolCalls: facts.filter(({ kind }) => kind === 'observed').length,
    tokens: stopped?.tokens ?? 0,
    cost: viewNanoUsd(spent),
    user: started?.user?.id ?? null,
    session: started?.session ?? null,
    parent: null,
    forkOf: started?.forkOf ?? null,
    source: 'pawl',
    isLost: false,
    traceId: started?.traceId ?? null,
    startedAt: started?.at ?? null,
    endedAt: ended?.at ?? null,
    lastAt,
    durationMs: started ? Date.parse(lastAt) - Date.parse(started.at) : null,
    ...run,
  };
}

function playRuns(http: Http, { runs, streams, asked }: State): void {
  type Params = { Params: { id: string } };
  const view = (run: PlayedRun): RunView => {
    const { id, agent, revision, status, stopReason, detail, answer, partial, ...rest } = tracedRun(run);
    const shown = { id, agent, revision, status, stopReason, detail, answer, partial, pending: run.pending ?? [] };
    return { ...rest, ...shown } as unknown as RunView;
  };
  http.get('/v1/runs', async (request) => {
    const { status } = request.query as { status?: string };
    const items = [...runs.values()].map(view).filter((run) => status === undefined || run.status === status);
    return { items, next: null };
  });
  http.get<Params>('/v1/runs/:id', async (request, reply) => {
    const run = runs.get(request.params.id);
    return run ? view(run) : sendProblem(reply, problem('unknown_run', 'the app has no run with this id'));
  });
  http.get<Params>('/v1/runs/:id/events', async (request, reply) => {
    const { id } = request.params;
    const open = streams.get(id) ?? new Set();
    streams.set(id, open.add(reply.raw));
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    reply.raw.on('close', () => open.delete(reply.raw));
    const behind = Number(request.headers['last-event-id'] ?? 0);
    for (const [at, fact] of (runs.get(id)?.facts ?? []).entries()) {
      if (at + 1 > behind) reply.raw.write(eventOf(fact, at + 1));
    }
  });
  type Request = { method: string; url: string; body: unknown };
  const remember = async ({ method, url, body }: Request) => {
    asked.push({ method, path: url, body, text: JSON.stringify(body) });
    return url.endsWith('/fork') ? { id: 'run_forked' } : { id: 'run' };
  };
  for (const action of ['approvals/:callId', 'signals', 'cancel', 'resume', 'fork']) {
    http.post(`/v1/runs/:id/${action}`, remember);
  }
}

function playFiles(http: Http, { files }: State): void {
  http.get<{ Params: { '*': string } }>('/v1/tools/results/*', async (request, reply) => {
    const file = files.get(request.params['*']);
    if (!file) return sendProblem(reply, problem('not_found', 'there is no such result'));
    return reply.type(file.type).send(file.bytes);
  });
}

function eventOf(fact: Fact, id: number): string {
  return `id: ${id}\nevent: ${fact.kind}\ndata: ${JSON.stringify(fact)}\n\n`;
}
