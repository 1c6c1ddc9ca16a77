/**
 * A server that keeps one run's facts and speaks the runs API as Pawl does, for what the real one can't be asked to do:
 * break connections at chosen places, and answer with errors. Imported by tests only.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fact, RunView } from '@pawl/contracts';
import { answerWord } from './answer-word.ts';

export const runId = `run_${'0'.repeat(32)}`;
const base = { v: 1 as const, runId, app: 'demo', at: '2026-11-30T10:00:00.000Z' };

/** A whole story of a run with so many signals in it. */
export function storyOf(signals: number, text = ''): Fact[] {
  const facts: Fact[] = Array.from({ length: signals }, (_, id) => ({
    ...base,
    kind: 'signal',
    id: String(id),
    text: `${text}é${id}`,
    by: 'test',
  }));
  const totals = { steps: 1, toolCalls: 0, tokens: 10, costNanoUsd: '1', durationMs: 5 };
  return [
    ...facts,
    { ...base, kind: 'ended', stopReason: 'final_answer', answer: '42', partial: false, detail: 'answered', ...totals },
  ];
}

export type Answer = { status: number; body: unknown };
export type Seen = { method: string; path: string; headers: IncomingMessage['headers']; body: unknown; text: string };

export type RunServer = {
  url: string;
  seen: Seen[];
  facts: Fact[];
  /** The run as it stands; words of people change it. */
  run: RunView;
  /** Whether to break an event stream before this event is sent; the second argument counts the connections. */
  cutBefore(index: number, connection: number): boolean;
  /** Whether event streams always begin at the start. */
  ignoresLastEventId: boolean;
  /** Answers to give instead, one for each request to come. */
  instead: (Answer | 'reset')[];
  stop(): Promise<void>;
};

export const runView: RunView = {
  id: runId,
  app: 'demo',
  agent: 'analyst',
  revision: 'a'.repeat(64),
  status: 'ended',
  phase: 'done',
  stopReason: 'final_answer',
  detail: 'answered',
  answer: 'the \u001B[31manswer\u202E',
  partial: false,
  steps: 1,
  toolCalls: 0,
  tokens: 10,
  cost: { nanoUsd: '1', amount: '0.01', currency: 'USD' },
  pending: [],
  traceId: '1'.repeat(32),
  startedAt: '2026-11-30T10:00:00.000Z',
  endedAt: '2026-11-30T10:00:01.000Z',
};

export async function startRunServer(facts: Fact[] = storyOf(3)): Promise<RunServer> {
  let connections = 0;
  const state: RunServer = {
    url: '',
    seen: [],
    facts,
    run: runView,
    cutBefore: () => false,
    ignoresLastEventId: false,
    instead: [],
    stop: async () => {
      http.closeAllConnections();
      http.close();
    },
  };
  const http = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://x');
    const text = Buffer.concat(await request.toArray()).toString();
    const body: unknown = text ? JSON.parse(text) : undefined;
    state.seen.push({
      method: request.method ?? '',
      path: `${pathname}${search}`,
      headers: request.headers,
      body,
      text,
    });
    const instead = state.instead.shift();
    if (instead === 'reset') return response.destroy();
    if (instead) return sendJson(response, instead);
    if (pathname.endsWith('/events'))
      return await sendEvents(state, response, { request, connection: (connections += 1) });
    if (request.method === 'PUT')
      return sendJson(response, { status: 200, body: { ...(body as object), revision: 'b'.repeat(64) } });
    const word = answerWord(state, { pathname, text, body });
    if (word) return sendJson(response, word);
    const isList = request.method === 'GET' && pathname === '/v1/runs';
    return sendJson(response, { status: 200, body: isList ? { items: [state.run], next: null } : state.run });
  };

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  state.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return state;
}

async function sendEvents(
  state: RunServer,
  response: ServerResponse,
  of: { request: IncomingMessage; connection: number },
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const behind = state.ignoresLastEventId ? 0 : Number(of.request.headers['last-event-id'] ?? 0);
  for (const [index, fact] of state.facts.entries()) {
    const id = (index + 1) * 10;
    if (id <= behind) continue;
    if (state.cutBefore(index, of.connection)) return void response.destroy();
    const event = `: a comment\nid: ${id}\nevent: ${fact.kind}\ndata: ${JSON.stringify(fact)}\n\n`;
    // In two pieces, so that an event is met half read.
    response.write(event.slice(0, 25));
    await new Promise((resolve) => setImmediate(resolve));
    response.write(event.slice(25));
    response.write(`event: delta\ndata: {"step":1,"text":"piece ${index}"}\n\n`);
  }
  // As long as a run has not ended, there may be more to come.
  if (state.facts.at(-1)?.kind === 'ended') response.end();
}

function sendJson(response: ServerResponse, { status, body }: Answer): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}
