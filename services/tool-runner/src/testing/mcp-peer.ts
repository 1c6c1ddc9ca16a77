/** An MCP server of the older revisions over HTTP, written out by hand so that it can misbehave in every way a test asks for. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Message = { id?: number; method?: string; params?: Record<string, unknown> };
export type McpCall = {
  name: string;
  args: string;
  meta: Record<string, unknown>;
  response: ServerResponse;
  id: number;
};

export type McpPeer = {
  url: string;
  calls: McpCall[];
  initialized(): number;
  /** Responses that were closed before they were finished. */
  hungUp(): number;
  /** What `tools/list` answers, by cursor. */
  pages: Map<string, { tools: unknown[]; nextCursor?: string }>;
  /** Answers a call; without it `echo` is all there is. */
  onCall: (call: McpCall) => void;
  /** Tells every listener that the list changed. */
  changeList(): void;
  /** Forgets all sessions, as a restart does. */
  restart(): void;
  stop(): Promise<void>;
};

/** What a server keeps between requests. */
type PeerState = {
  peer: Pick<McpPeer, 'calls' | 'pages' | 'onCall'>;
  sessions: Set<string>;
  listeners: Set<ServerResponse>;
  initialized: number;
  hungUp: number;
};

export async function startMcpPeer(): Promise<McpPeer> {
  const peer: PeerState['peer'] = {
    calls: [],
    pages: new Map([['', { tools: [toolNamed('echo')] }]]),
    onCall: (call) => reply(call, { content: [{ type: 'text', text: call.args }] }),
  };
  const state: PeerState = { peer, sessions: new Set(), listeners: new Set(), initialized: 0, hungUp: 0 };
  const server = createServer((request, response) => {
    if (request.method === 'GET') return listen(state, request, response);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      if (text === '') response.writeHead(200).end();
      else answer(state, { text, response, session: sessionOf(request) });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(peer, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    initialized: () => state.initialized,
    hungUp: () => state.hungUp,
    changeList() {
      const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      for (const each of state.listeners) each.write(`data: ${note}\n\n`);
    },
    restart: () => state.sessions.clear(),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function sessionOf(request: IncomingMessage): string | undefined {
  return request.headers['mcp-session-id']?.toString();
}

function listen({ sessions, listeners }: PeerState, request: IncomingMessage, response: ServerResponse): void {
  if (!sessions.has(sessionOf(request) ?? '')) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  listeners.add(response);
  response.on('close', () => listeners.delete(response));
}

type Posted = { text: string; response: ServerResponse; session: string | undefined };

function answer(state: PeerState, posted: Posted): void {
  const { response, session } = posted;
  const message = JSON.parse(posted.text) as Message;
  const { id, method, params } = message;
  if (method === 'initialize') return initialize(state, response, id);
  if (session === undefined) {
    return void response
      .writeHead(400)
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'no session' } }));
  }
  if (!state.sessions.has(session)) return void response.writeHead(404).end();
  if (id === undefined) return void response.writeHead(202).end();
  if (method === 'tools/list') {
    const page = state.peer.pages.get((params?.['cursor'] as string | undefined) ?? '') ?? { tools: [] };
    return json(response, { jsonrpc: '2.0', id, result: page });
  }
  if (method === 'tools/call') return takeCall(state, posted, { id, params: params ?? {} });
  return json(response, { jsonrpc: '2.0', id, result: {} });
}

function initialize(state: PeerState, response: ServerResponse, id: number | undefined): void {
  state.initialized += 1;
  const session = randomUUID();
  state.sessions.add(session);
  const capabilities = { tools: { listChanged: true } };
  const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'peer', version: '1' } };
  response.setHeader('mcp-session-id', session);
  json(response, { jsonrpc: '2.0', id, result });
}

function takeCall(
  state: PeerState,
  { text, response }: Posted,
  asked: { id: number; params: Record<string, unknown> },
): void {
  response.on('close', () => (state.hungUp += response.writableFinished ? 0 : 1));
  const { id, params } = asked;
  // The very text of the arguments, as it came.
  const args = /"arguments":(\{.*?\})[,}]/.exec(text)?.[1] ?? '{}';
  const call = { name: params['name'] as string, args, meta: params['_meta'] as Record<string, unknown>, response, id };
  state.peer.calls.push(call);
  state.peer.onCall(call);
}

export function toolNamed(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    ...more,
  };
}

/** Answers a call with a result, as JSON. */
export function reply({ response, id }: McpCall, result: unknown): void {
  json(response, { jsonrpc: '2.0', id, result });
}

/** The same with the text of the result, for numbers that JavaScript would round. */
export function replyText({ response, id }: McpCall, result: string): void {
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
