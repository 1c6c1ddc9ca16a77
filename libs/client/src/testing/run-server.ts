/**
 * A server that keeps one run's facts and speaks the runs API as Pawl does, for what the real one can't be asked to do:
 * break connections at chosen places, and answer with errors. Imported by tests only.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fact } from '@pawl/contracts';

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

type Answer = { status: number; body: unknown };
export type Seen = { method: string; path: string; headers: IncomingMessage['headers']; body: unknown };

export type RunServer = {
  url: string;
  seen: Seen[];
  facts: Fact[];
  /** Whether to break an event stream before this event is sent; the second argument counts the connections. */
  cutBefore(index: number, connection: number): boolean;
  /** Whether event streams always begin at the start. */
  ignoresLastEventId: boolean;
  /** Answers to give instead, one for each request to come. */
  instead: (Answer | 'reset')[];
  stop(): Promise<void>;
};

export const runView = {
  id: runId,
  app: 'demo',
  agent: 'analyst',
  revision: 'a'.repeat(64),
  status: 'ended',
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
    state.seen.push({ method: request.method ?? '', path: `${pathname}${search}`, headers: request.headers, body });
    const instead = state.instead.shift();
    if (instead === 'reset') return response.destroy();
    if (instead) return sendJson(response, instead);
    if (pathname.endsWith('/events')) return await sendEvents(request, response);
    if (request.method === 'PUT')
      return sendJson(response, { status: 200, body: { ...(body as object), revision: 'b'.repeat(64) } });
    const isList = request.method === 'GET' && pathname === '/v1/runs';
    return sendJson(response, { status: 200, body: isList ? { items: [runView], next: null } : runView });
  };

  const sendEvents = async (request: IncomingMessage, response: ServerResponse) => {
    connections += 1;
    const connection = connections;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const behind = state.ignoresLastEventId ? 0 : Number(request.headers['last-event-id'] ?? 0);
    for (const [index, fact] of state.facts.entries()) {
      const id = (index + 1) * 10;
      if (id <= behind) continue;
      if (state.cutBefore(index, connection)) return response.destroy();
      const event = `: a comment\nid: ${id}\nevent: ${fact.kind}\ndata: ${JSON.stringify(fact)}\n\n`;
      // In two pieces, so that an event is met half read.
      response.write(event.slice(0, 25));
      await new Promise((resolve) => setImmediate(resolve));
      response.write(event.slice(25));
      response.write(`event: delta\ndata: {"step":1,"text":"piece ${index}"}\n\n`);
    }
    response.end();
  };

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  state.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return state;
}

function sendJson(response: ServerResponse, { status, body }: Answer): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}
