/** MCP servers as child processes: real ones from npm, started and called, and one of our own that misbehaves. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createArgumentValidator } from '@pawl/calls';
import { mcpServerSchema } from '@pawl/contracts';
import { eventually, hasTimeForPeers, installPeers } from '@pawl/testkit';
import { createResultsInMemory } from '../testing/results-in-memory.ts';
import { createStage } from '../results/result-store.ts';
import { BrokenOffError } from '../call/outcome.ts';
import { createTargets } from '@pawl/service/targets';
import { callKind, dataOf, toolOf } from './kind.suite.ts';
import { createMcpKind } from './mcp.ts';
import { createMcpServers } from './mcp/mcp-servers.ts';

const node = process.execPath;
const noTime = 'its 500 MB are installed by npm run test:full and in continuous integration only';
let folder = '';
const script = new URL('../testing/stdio-peer.mjs', import.meta.url).pathname;
/** Where the servers that are too large to come with Pawl are installed, once they are asked for. */
let peers = '';
const bin = (name: string) => {
  const places = [peers, ...(createRequire(import.meta.url).resolve.paths(name) ?? [])];
  const home = places.map((path) => join(path, name)).find((path) => existsSync(path)) ?? name;
  const { bin: bins } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  return join(home, typeof bins === 'string' ? bins : (Object.values(bins)[0] ?? ''));
};
const specs: Record<string, () => Record<string, unknown>> = {
  everything: () => ({ command: node, args: [bin('@modelcontextprotocol/server-everything'), 'stdio'] }),
  filesystem: () => ({ command: node, args: [bin('@modelcontextprotocol/server-filesystem'), folder] }),
  memory: () => ({
    command: node,
    args: [bin('@modelcontextprotocol/server-memory')],
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
  }),
  github: () => ({ command: node, args: [bin('@modelcontextprotocol/server-github')] }),
  context7: () => ({ command: node, args: [bin('@upstash/context7-mcp')] }),
  mongodb: () => ({
    command: node,
    args: [bin('mongodb-mcp-server')],
    env: { MDB_MCP_TELEMETRY: 'disabled', HOME: folder },
  }),
  peer: () => ({ command: node, args: [script], env: { GIVEN: '${secret:TOKEN}' } }),
  asker: () => ({ command: node, args: [script] }),
  shell: () => ({ command: 'sh', args: ['-c', 'true'] }),
};
const results = createResultsInMemory();
const servers = createMcpServers({
  stage: createStage(results.store),
  find: (app, name) => {
    const spec = specs[name]?.() ?? {};
    const object = mcpServerSchema.parse({
      apiVersion: 'pawl.dev/v1',
      kind: 'McpServer',
      metadata: { app, name },
      spec,
    });
    return { revision: name, object };
  },
  secrets: () => (name) => (name === 'TOKEN' ? 'sesame' : undefined),
  targets: createTargets([]),
  bytesMax: 1_000_000,
  commands: [node],
  commandPath: dirname(node),
});
const kind = createMcpKind({
  servers,
  gate: { acceptance: () => Promise.resolve({ isAccepted: true, changedAtMs: undefined }) },
  validator: createArgumentValidator(),
});
const call = async (server: string, tool: string, args: Record<string, unknown> = {}) =>
  await callKind(kind, { tool: toolOf({ mcp: { server, tool } }), args: JSON.stringify(args) });
const toolsOf = async (server: string) => {
  const opened = await servers.open('demo', server);
  if ('failure' in opened) throw new Error(opened.failure.message);
  const { connection } = opened;
  const { tools, warnings } = await connection.tools(AbortSignal.timeout(20_000));
  return { names: [...tools.keys()], warnings, version: connection.client.getNegotiatedProtocolVersion() };
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-mcp-'));
  await writeFile(join(folder, 'note.txt'), 'remember the milk');
});
afterAll(async () => {
  await kind.close();
  await rm(folder, { recursive: true, force: true });
});

describe('MCP servers from npm', () => {
  test('everything: echo, a sum, and a picture by reference', async () => {
    expect(dataOf(await call('everything', 'echo', { message: 'hi' }))).toContain('hi');
    expect(dataOf(await call('everything', 'get-sum', { a: 2, b: 40 }))).toContain('42');
    const picture = await call('everything', 'get-tiny-image');
    expect(picture).toMatchObject({ shown: expect.stringMatching(/"mimeType":"image\/png","bytes":\d+/) });
    expect(await call('everything', 'get-sum', { a: 'x' })).toMatchObject({
      kind: 'failure',
      code: 'invalid_arguments',
    });
  });

  test('filesystem: reads a file of its folder, and says why it reads no other', async () => {
    expect(dataOf(await call('filesystem', 'read_text_file', { path: join(folder, 'note.txt') }))).toContain('milk');
    const outside = await call('filesystem', 'read_text_file', { path: '/etc/passwd' });
    expect(outside).toMatchObject({ kind: 'failure', data: expect.stringContaining('denied') });
  });

  test('memory: what is put in comes out', async () => {
    const entity = { name: 'Ada', entityType: 'person', observations: ['writes programs'] };
    await call('memory', 'create_entities', { entities: [entity] });
    expect(dataOf(await call('memory', 'search_nodes', { query: 'Ada' }))).toContain('writes programs');
  });

  test('github (revision 2024-11-05): lists its tools, and answers a call', { timeout: 660_000 }, async (context) => {
    if (!hasTimeForPeers()) context.skip(noTime);
    peers = await installPeers();
    const { names, version } = await toolsOf('github');
    expect(version).toBe('2024-11-05');
    expect(names).toContain('search_repositories');
    // Its only upstream is GitHub itself: without a network the server's own words say so, with one they are what it found.
    const found = await call('github', 'search_repositories', { query: 'pawl' });
    expect(JSON.stringify(found)).toMatch(/fetch failed|total_count|rate limit/);
  });

  test(
    'context7 and mongodb (revision 2026-07-28): list their tools, and answer calls',
    { timeout: 660_000 },
    async (context) => {
      if (!hasTimeForPeers()) context.skip(noTime);
      peers = await installPeers();
      const context7 = await toolsOf('context7');
      expect(context7.names).toContain('resolve-library-id');
      const mongodb = await toolsOf('mongodb');
      expect(mongodb.names).toContain('connect');
      expect([context7.version, mongodb.version]).toEqual(['2026-07-28', '2026-07-28']);
      // Without a network the first can only say that its service is away; the second asks to be connected to a database.
      const library = { query: 'How to parse an object?', libraryName: 'zod' };
      expect(JSON.stringify(await call('context7', 'resolve-library-id', library))).toMatch(/zod|fetch|librar/i);
      expect(JSON.stringify(await call('mongodb', 'list-databases'))).toMatch(/connect/i);
    },
  );
});

describe('child processes', () => {
  test('C20: a child gets what it was given and nothing else', async () => {
    const data = JSON.parse(dataOf(await call('peer', 'environment'))) as Record<string, string>;
    expect(data).toEqual({ PATH: dirname(node), GIVEN: 'sesame' });
  });

  test('a command that the operator does not allow is not started', async () => {
    expect(await call('shell', 'x')).toMatchObject({ code: 'target_not_allowed' });
  });

  test('C5: numbers keep their digits', async () => {
    const tool = toolOf({ mcp: { server: 'peer', tool: 'echo' } });
    expect(dataOf(await callKind(kind, { tool, args: '{"id":9007199254740993}' }))).toBe('{"id":9007199254740993}');
  });

  test('several calls that ask a person at once: the next ones wait for each other, so each question is its own', async () => {
    const ask = (together: number) => Promise.all([1, 2].map(() => call('asker', 'ask', { together })));
    expect((await ask(2)).map(dataOf)).toEqual(['"cancel"', '"cancel"']);
    const asked = { kind: 'failure', message: expect.stringContaining('Which city?') };
    expect(await ask(1)).toMatchObject([asked, asked]);
  });

  test('a call that waits for another one ends with its run', async () => {
    const hold = toolOf({ mcp: { server: 'asker', tool: 'hold' } });
    const [first, second] = [new AbortController(), new AbortController()];
    const holding = callKind(kind, { tool: hold, args: '{}' }, { signal: first.signal });
    const waiting = callKind(kind, { tool: hold, args: '{}' }, { signal: second.signal });
    second.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    first.abort(new Error('enough, too'));
    await expect(holding).rejects.toThrow('enough, too');
    expect(dataOf(await call('asker', 'echo', { n: 1 }))).toBe('{"n":1}');
  });

  test('C7: 150 MB are read past, the call fails alone, and memory stays', async () => {
    const small = call('peer', 'echo', { n: 1 });
    const before = process.memoryUsage().rss;
    expect(await call('peer', 'flood', { bytes: 150_000_000 })).toMatchObject({ code: 'tool_result_too_large' });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    expect(dataOf(await small)).toBe('{"n":1}');
    expect(dataOf(await call('peer', 'echo', { n: 2 }))).toBe('{"n":2}');
  });

  test('C7: a result above the cap comes by reference, and only the call that it is for gets it', async () => {
    const tool = toolOf({ mcp: { server: 'peer', tool: 'flood' } });
    const small = call('peer', 'echo', { n: 3 });
    const flood = callKind(kind, { tool, args: '{"bytes":3000000}' }, { spool: results.spool });
    expect(await flood).toMatchObject({ kind: 'stored', ref: 'demo/run_1/0/0', isCut: false });
    expect(dataOf(await small)).toBe('{"n":3}');
    const kept = JSON.parse(results.stored.get('demo/run_1/0/0')?.bytes.toString() ?? '') as object;
    expect(kept).toEqual({ content: [{ type: 'text', text: 'x'.repeat(3_000_000) }] });
  });

  test('C9: a cancel is told to the child', async () => {
    const controller = new AbortController();
    const tool = toolOf({ mcp: { server: 'peer', tool: 'hold' } });
    const outcome = callKind(kind, { tool, args: '{}' }, { signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    const state = async () => JSON.parse(dataOf(await call('peer', 'state'))) as { held: number; cancelled: number };
    await eventually(async () => (await state()).held === 1);
    controller.abort(new BrokenOffError('cancelled'));
    expect(await outcome).toBeInstanceOf(BrokenOffError);
    await eventually(async () => (await state()).cancelled === 1);
  });

  test('C14: a child that ends is started again; a read is repeated, a write is not', async () => {
    const first = dataOf(await call('peer', 'pid'));
    expect(await call('peer', 'exit')).toMatchObject({ kind: 'failure', effect: 'possible' });
    expect(dataOf(await call('peer', 'pid'))).not.toBe(first);
    const writing = toolOf({ mcp: { server: 'peer', tool: 'exit' }, effect: 'write' });
    const second = dataOf(await call('peer', 'pid'));
    expect(await callKind(kind, { tool: writing, args: '{}' })).toMatchObject({ kind: 'failure', effect: 'possible' });
    expect(dataOf(await call('peer', 'pid'))).not.toBe(second);
  });

  test('closing ends the child and what it started', async () => {
    const pids = JSON.parse(dataOf(await call('peer', 'spawn'))) as number[];
    const opened = await servers.open('demo', 'peer');
    if ('failure' in opened) throw new Error(opened.failure.message);
    await opened.connection.close();
    await eventually(() => pids.every((pid) => !isRunning(pid)));
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
