/** Client credentials of MCP servers, against a real authorization server. */
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createArgumentValidator } from '@pawl/calls';
import { mcpServerSchema } from '@pawl/contracts';
import { createStage } from '../results/result-store.ts';
import { startMcpPeer, type McpPeer } from '../testing/mcp-peer.ts';
import { createResultsInMemory } from '../testing/results-in-memory.ts';
import { createTargets } from '@pawl/service/targets';
import { callKind, dataOf, toolOf } from './kind.suite.ts';
import { createMcpKind } from './mcp.ts';
import { createMcpServers } from './mcp/mcp-servers.ts';

const clientSecret = 'the-secret-of-the-client';
let peer: McpPeer;
let issuer: Server;
let guarded: Server;
let provider: Provider;
const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
/** Tokens that the server has taken, in their order. */
const taken: string[] = [];
/** Tokens that it takes no more. */
const revoked = new Set<string>();
const tokenRequests: string[] = [];

beforeAll(async () => {
  peer = await startMcpPeer();
  guarded = await listen(guard);
  issuer = await listen((request, response) => {
    if (request.url === '/token') tokenRequests.push(request.headers.authorization ?? '');
    void provider.callback()(request, response);
  });
  provider = new Provider(urlOf(issuer), {
    clients: [
      {
        client_id: 'pawl',
        client_secret: clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['tools'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: 'tools', accessTokenFormat: 'opaque' }),
      },
    },
  });
});
afterAll(async () => {
  await kind.close();
  for (const server of [issuer, guarded]) {
    server.closeAllConnections();
    server.close();
  }
  await peer.stop();
});

async function listen(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** An MCP server that wants a token of the issuer, made for it. */
function guard(request: IncomingMessage, response: ServerResponse): void {
  if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
    const told = {
      resource: `${urlOf(guarded)}/mcp`,
      authorization_servers: [urlOf(issuer)],
      scopes_supported: ['tools'],
    };
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
  }
  void pass(request, response);
}

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const found = token === '' ? undefined : await provider.ClientCredentials.find(token);
  const isFor = found?.aud === `${urlOf(guarded)}/mcp`;
  if (!found?.isValid || !isFor || revoked.has(token)) {
    const metadata = `${urlOf(guarded)}/.well-known/oauth-protected-resource/mcp`;
    return void response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
  }
  taken.push(token);
  const { method, headers } = request;
  const onward = httpRequest(peer.url, { ...(method ? { method } : {}), headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}

const specs: Record<string, () => Record<string, unknown>> = {
  right: () => ({ url: `${urlOf(guarded)}/mcp`, oauth: oauth('${secret:MCP_CLIENT}') }),
  wrong: () => ({ url: `${urlOf(guarded)}/mcp`, oauth: oauth('another secret') }),
  unset: () => ({ url: `${urlOf(guarded)}/mcp`, oauth: oauth('${secret:ABSENT}') }),
  elsewhere: () => ({
    url: `${urlOf(guarded)}/mcp`,
    oauth: { ...oauth('${secret:MCP_CLIENT}'), issuer: 'https://issuer.example' },
  }),
  none: () => ({ url: `${urlOf(guarded)}/mcp` }),
};

function oauth(secret: string): Record<string, string> {
  return { issuer: urlOf(issuer), clientId: 'pawl', clientSecret: secret, scope: 'tools' };
}

const kind = createMcpKind({
  servers: createMcpServers({
    find: (app, name) => ({
      revision: name,
      object: mcpServerSchema.parse({
        apiVersion: 'pawl.dev/v1',
        kind: 'McpServer',
        metadata: { app, name },
        spec: specs[name]?.(),
      }),
    }),
    stage: createStage(createResultsInMemory().store),
    secrets: () => (name) => (name === 'MCP_CLIENT' ? clientSecret : undefined),
    targets: createTargets(['127.0.0.1']),
    bytesMax: 1_000_000,
    commands: [],
    commandPath: '',
  }),
  gate: { acceptance: () => Promise.resolve({ isAccepted: true, changedAtMs: undefined }) },
  validator: createArgumentValidator(),
});
const call = async (server: string) =>
  await callKind(kind, { tool: toolOf({ mcp: { server, tool: 'echo' } }), args: '{"a":1}' });

describe('client credentials', () => {
  test('a token is got from the issuer, kept, and got anew when it is no longer taken', async () => {
    expect(JSON.parse(dataOf(await call('right')))).toEqual({ a: 1 });
    expect(JSON.parse(dataOf(await call('right')))).toEqual({ a: 1 });
    expect(new Set(taken).size).toBe(1);
    expect(tokenRequests).toHaveLength(1);

    revoked.add(taken[0] ?? '');
    expect(JSON.parse(dataOf(await call('right')))).toEqual({ a: 1 });
    expect(new Set(taken).size).toBe(2);
  });

  test.each(['wrong', 'none'])('%s credentials are told as such, and no secret is in the error', async (server) => {
    const outcome = await call(server);
    expect(outcome).toMatchObject({ kind: 'failure', effect: 'none', message: expect.stringContaining('credentials') });
    expect(JSON.stringify(outcome)).not.toContain('another secret');
  });

  test('a secret that is not set is named', async () => {
    expect(await call('unset')).toMatchObject({ code: 'secret_missing', message: expect.stringContaining('ABSENT') });
  });

  test('the secret goes to no other authorization server than its own, whichever the server names', async () => {
    const before = tokenRequests.length;
    expect(await call('elsewhere')).toMatchObject({ kind: 'failure', effect: 'none' });
    expect(tokenRequests).toHaveLength(before);
  });
});
