/** One connection to one MCP server, by HTTP or to a child process, in whichever revision of the protocol it speaks. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { pathToFileURL } from 'node:url';
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import type { ArgumentValidator } from '@pawl/calls';
import type { McpServer } from '@pawl/contracts';
import { z } from 'zod';
import type { Stage } from '../../results/result-store.ts';
import type { Targets } from '@pawl/service/targets';
import { createCallsUnderWay } from './calls-under-way.ts';
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts';
import { answerElicitation, type AnswerTo } from './elicitation.ts';
import { listTools, type McpToolList } from './list-tools.ts';
import type { LongReplies } from './long-message.ts';
import { StdioTransport } from './stdio-transport.ts';

/** What belongs to one call while it is under way. */
export type CallScope = LongReplies & {
  signal: AbortSignal;
  /** What the server wanted to ask a person, and nobody has answered yet. */
  questions: string[];
  answerTo: AnswerTo | undefined;
  validator: ArgumentValidator;
};

export type McpConnection = {
  client: Client;
  /** What the server offers; read anew when it says that its list changed. */
  tools(signal: AbortSignal): Promise<McpToolList>;
  /** Runs a call; its request is closed when the signal is aborted, and what the server asks meanwhile is noted. */
  during<T>(scope: CallScope, body: () => Promise<T>): Promise<T>;
  /** Whether the connection has ended by itself. */
  isClosed(): boolean;
  /** Whether the server keeps a session that it may lose. */
  hasSession(): boolean;
  /** The last words of a child process. */
  stderr(): string;
  close(): Promise<void>;
};

export type ConnectOptions = {
  spec: McpServer['spec'];
  /** Headers and environment with their secrets filled in. */
  headers: Record<string, string>;
  environment: Record<string, string>;
  /** With the secret filled in. */
  oauth: McpServer['spec']['oauth'];
  targets: Targets;
  bytesMax: number;
  stage: Stage;
};

const connectWithinMs = 20_000;
const probeWithinMs = 5_000;
/** A list that changes while it is read is read again, this often. */
const rereadsMax = 3;

/** Throws what the connection or the handshake throws. */
export async function connectServer(options: ConnectOptions): Promise<McpConnection> {
  if (options.spec.url !== undefined) return await connectWith(options, 'auto');
  try {
    return await connectWith(options, 'auto');
  } catch {
    // Some servers end at a question that they don't know; the handshake of old is what they know.
    return await connectWith(options, 'legacy');
  }
}

async function connectWith(options: ConnectOptions, mode: 'auto' | 'legacy'): Promise<McpConnection> {
  let changes = 0;
  const calls = new AsyncLocalStorage<CallScope>();
  const underWay = createCallsUnderWay<CallScope>();
  const client = new Client(
    { name: 'pawl', version: '0.1.0' },
    {
      capabilities: { elicitation: { form: {} }, ...(options.spec.roots ? { roots: {} } : {}) },
      versionNegotiation: { mode, probe: { timeoutMs: probeWithinMs } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void (changes += 1) } },
    },
  );
  const { roots } = options.spec;
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: roots.map((path) => ({ uri: uriOf(path) })) }));
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    const scope = calls.getStore() ?? underWay.onlyOne();
    return scope ? await answerElicitation(params, scope) : { action: 'cancel' };
  });
  const { transport, fetch } = transportOf(options, () => calls.getStore());
  let isClosed = false;
  Object.assign(client, { onclose: () => void (isClosed = true), onerror: () => {} });
  takeAnyResult(client);
  const close = async () => {
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
    await fetch?.close();
  };
  try {
    await client.connect(transport, { timeout: connectWithinMs });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    client,
    tools: createToolReader(client, { isOverHttp: options.spec.url !== undefined, changesSoFar: () => changes }),
    async during(scope, body) {
      try {
        return await underWay.run(scope, scope.signal, () => calls.run(scope, body));
      } finally {
        scope.isOver = true;
      }
    },
    isClosed: () => isClosed,
    hasSession: () => transport.sessionId !== undefined,
    stderr: () => (transport instanceof StdioTransport ? transport.stderr : ''),
    close,
  };
}

/**
 * Results of tools are read as they come: the library would refuse one with a kind of content that it doesn't know, and what
 * the server did and said would be lost.
 */
function takeAnyResult(client: Client): void {
  const lenient = client as unknown as { request(...given: unknown[]): Promise<unknown> };
  const request = lenient.request.bind(client);
  lenient.request = (asked, options, ...others) =>
    (asked as { method: string }).method === 'tools/call' && others.length === 0
      ? request(asked, z.looseObject({}), options)
      : request(asked, options, ...others);
}

function transportOf(
  options: ConnectOptions,
  call: () => CallScope | undefined,
): { transport: Transport; fetch?: GuardedFetch } {
  const { spec, headers, environment, oauth, targets, bytesMax, stage } = options;
  if (spec.url === undefined) {
    const { command = '', args = [] } = spec;
    return { transport: new StdioTransport({ command, args, environment, bytesMax, stage, call }) };
  }
  const fetch = createGuardedFetch({ targets, bytesMax, stage, call });
  const transport = new StreamableHTTPClientTransport(new URL(spec.url), {
    fetch: fetch.fetch,
    ...(oauth ? { authProvider: providerOf(oauth) } : {}),
    requestInit: { headers: { 'accept-encoding': 'identity', 'user-agent': 'pawl-tool-runner', ...headers } },
  });
  return { transport, fetch };
}

/** Asks the issuer for a token when the server wants one, and again when it is no longer taken. */
function providerOf({ issuer, clientId, clientSecret, scope }: NonNullable<McpServer['spec']['oauth']>) {
  const given = { clientId, clientSecret, clientName: 'pawl', expectedIssuer: issuer };
  return new ClientCredentialsProvider({ ...given, ...(scope === undefined ? {} : { scope }) });
}

type Reading = { isOverHttp: boolean; changesSoFar: () => number };

/** Keeps the list until it changes; who asks meanwhile waits for the same answer. */
function createToolReader(client: Client, { isOverHttp, changesSoFar }: Reading): McpConnection['tools'] {
  let known: { list: Promise<McpToolList>; changes: number } | undefined;
  const read = async (signal: AbortSignal): Promise<McpToolList> => {
    for (let rereads = 0; ; rereads += 1) {
      const before = changesSoFar();
      const list = await listTools(client, isOverHttp, signal);
      if (changesSoFar() === before || rereads === rereadsMax) return list;
    }
  };
  return async () => {
    if (known?.changes !== changesSoFar()) {
      // Not the signal of one of those who wait.
      const list = read(AbortSignal.timeout(connectWithinMs));
      known = { list, changes: changesSoFar() };
      list.catch(() => void (known = undefined));
    }
    return await known.list;
  };
}

function uriOf(root: string): string {
  return root.includes('://') ? root : pathToFileURL(root).href;
}
