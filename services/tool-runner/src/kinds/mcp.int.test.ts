import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createArgumentValidator } from '@pawl/calls';
import { mcpServerSchema } from '@pawl/contracts';
import { eventually } from '@pawl/testkit';
import { createResultsInMemory } from '../testing/results-in-memory.ts';
import { createStage } from '../results/result-store.ts';
import { BrokenOffError } from '../call/outcome.ts';
import { reply, replyText, startMcpPeer, toolNamed, type McpCall, type McpPeer } from '../testing/mcp-peer.ts';
import { createTargets } from '@pawl/service/targets';
import { callKind, dataOf, describeKind, toolOf } from './kind.suite.ts';
import { createMcpKind } from './mcp.ts';
import { createMcpServers } from './mcp/mcp-servers.ts';

const peers: Record<string, McpPeer> = {};
const specs: Record<string, () => Record<string, unknown>> = {
  absent: () => ({ url: 'http://127.0.0.1:1/mcp' }),
  metadata: () => ({ url: 'http://169.254.169.254/mcp' }),
  secretless: () => ({ url: peers['one']?.url, headers: { 'x-key': '${secret:ABSENT}' } }),
};
const results = createResultsInMemory();
const servers = createMcpServers({
  stage: createStage(results.store),
  find: (app, name) => {
    const spec = specs[name]?.() ?? { url: peers[name]?.url };
    const object = mcpServerSchema.parse({
      apiVersion: 'pawl.dev/v1',
      kind: 'McpServer',
      metadata: { app, name },
      spec,
    });
    return { revision: JSON.stringify(spec), object };
  },
  secrets: () => () => undefined,
  targets: createTargets(['127.0.0.1']),
  bytesMax: 1_000_000,
  commands: [],
  commandPath: '',
});
const kind = createMcpKind({
  servers,
  gate: { acceptance: () => Promise.resolve({ isAccepted: true, changedAtMs: undefined }) },
  validator: createArgumentValidator(),
});

const toolAt = (server: string, tool = 'echo', more: Record<string, unknown> = {}) =>
  toolOf({ mcp: { server, tool }, ...more });
const one = () => peers['one'] as McpPeer;
const held: McpCall[] = [];

beforeAll(async () => {
  for (const name of ['one', 'two', 'three']) peers[name] = await startMcpPeer();
  one().pages = new Map([['', { tools: ['echo', 'endless', 'large'].map((name) => toolNamed(name)) }]]);
});
beforeEach(() => {
  one().onCall = (call) => {
    if (call.name === 'endless') return void held.push(call);
    const text = JSON.stringify(call.name === 'large' ? 'x'.repeat(1_500_000) : call.args);
    replyText(call, `{"content":[{"type":"text","text":${text}}]}`);
  };
});
afterEach(() => {
  for (const { response } of held.splice(0)) response.end();
  for (const peer of Object.values(peers)) peer.calls.splice(0);
});
afterAll(async () => {
  await kind.close();
  await Promise.all(Object.values(peers).map((peer) => peer.stop()));
});

describeKind(
  'mcp',
  () => ({
    kind,
    working: { tool: toolAt('one'), args: '{"a":"ü"}', data: { a: 'ü' } },
    exact: { tool: toolAt('one'), args: '{"id":9007199254740993}' },
    endless: {
      tool: toolAt('one', 'endless'),
      args: '{}',
      isUnderWay: async () => one().calls.length === 1,
      isReleased: async () => one().hungUp() === 1,
    },
    unreachable: { tool: toolAt('absent'), args: '{}' },
    forbidden: { tool: toolAt('metadata'), args: '{}' },
    withoutSecret: { tool: toolAt('secretless'), args: '{}' },
    tooLarge: { tool: toolAt('one', 'large'), args: '{}' },
    refused: [toolOf({ builtin: { name: 'current_time' } })],
  }),
  ['exact', 'endless', 'tooLarge', 'unreachable', 'forbidden', 'withoutSecret'],
);

describe('tools of MCP servers', () => {
  describe('C7: a result above the cap', () => {
    const rows = Array.from({ length: 60_000 }, (_unused, n) => `row ${n} "quoted" ü`);
    const long = JSON.stringify(rows.join('\n'));
    const large = (id: number | string) =>
      `{"result":{"content":[{"type":"text","text":${long}}],"isError":false},"jsonrpc":"2.0","id":${id}}`;
    const event = (data: string) => `event: message\ndata: ${data}\n\n`;
    const ask = async () =>
      await callKind(kind, { tool: toolAt('one', 'large'), args: '{}' }, { spool: results.spool });

    test.each<[string, string, (call: McpCall) => string]>([
      ['as JSON', 'application/json', ({ id }) => large(id)],
      ['as an event', 'text/event-stream', ({ id }) => event(large(id))],
      [
        'between other events, in several lines',
        'text/event-stream',
        ({ id }) => {
          const note = event('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}');
          return note + event(large(id).replace(',"isError"', '\ndata: ,"isError"')).replaceAll('\n', '\r\n') + note;
        },
      ],
    ])('comes by reference, in full: %s', async (_name, type, answer) => {
      results.stored.clear();
      one().onCall = (call) => void call.response.writeHead(200, { 'content-type': type }).end(answer(call));
      const outcome = await ask();
      expect(outcome).toMatchObject({ kind: 'stored', ref: 'demo/run_1/0/0', isCut: false });
      const kept = JSON.parse(results.stored.get('demo/run_1/0/0')?.bytes.toString() ?? '') as unknown;
      expect(kept).toEqual({ content: [{ type: 'text', text: rows.join('\n') }], isError: false });
      expect([...results.stored.keys()]).toEqual(['demo/run_1/0/0']);
    });

    test.each(['application/json', 'text/event-stream'])('C17: one of another call is dropped: %s', async (type) => {
      results.stored.clear();
      const text = (id: number) => (type === 'application/json' ? large(id) : event(large(id)));
      one().onCall = ({ response, id }) => void response.writeHead(200, { 'content-type': type }).end(text(id + 1_000));
      expect(await ask()).toMatchObject({ kind: 'failure', message: expect.stringContaining('another request') });
      expect(results.stored.size).toBe(0);
    });

    test('one that says that the tool failed is a failure', async () => {
      one().onCall = ({ response, id }) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(large(id).replace('"isError":false', '"isError":true'));
      expect(await ask()).toMatchObject({ kind: 'failure', data: expect.stringContaining('row 0') });
    });
  });

  test('C9: a cancel closes the stream of the call, and what comes later is dropped', async () => {
    const before = one().hungUp();
    one().onCall = (call) => void held.push(call);
    const controller = new AbortController();
    const outcome = callKind(kind, { tool: toolAt('one'), args: '{}' }, { signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    await eventually(() => held.length === 1);
    controller.abort(new BrokenOffError('cancelled'));
    await eventually(() => one().hungUp() === before + 1);
    expect(await outcome).toBeInstanceOf(BrokenOffError);
  });

  test('C5: a number in structured content keeps its digits', async () => {
    one().onCall = (call) => replyText(call, '{"content":[],"structuredContent":{"id":2512292042121000001}}');
    expect(dataOf(await callKind(kind, { tool: toolAt('one'), args: '{}' }))).toBe('{"id":2512292042121000001}');
  });

  test('the trace and the key of an effect travel with the call', async () => {
    await callKind(kind, { tool: toolAt('one', 'echo', { effect: 'write' }), args: '{}' }, { effectKey: 'k1' });
    expect(one().calls[0]?.meta).toMatchObject({
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-/),
      'pawl.dev/idempotency-key': 'k1',
    });
  });

  test('C7: a result above the cap is broken off, by JSON and by event stream', async () => {
    const large = JSON.stringify('x'.repeat(1_500_000));
    one().onCall = (call) => replyText(call, `{"content":[{"type":"text","text":${large}}]}`);
    expect(await callKind(kind, { tool: toolAt('one'), args: '{}' })).toMatchObject({ code: 'tool_result_too_large' });
    one().onCall = ({ response, id }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":${large}}]}}\n\n`);
    };
    expect(await callKind(kind, { tool: toolAt('one'), args: '{}' })).toMatchObject({ code: 'tool_result_too_large' });
  });

  test('C7: 150 MB of an event stream are not taken, and memory stays', async () => {
    const piece = 'x'.repeat(500_000);
    one().onCall = ({ response, id }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
      let sent = 0;
      const more = () => {
        while (sent < 300 && !response.destroyed && response.write(piece)) sent += 1;
        if (sent < 300 && !response.destroyed) response.once('drain', more);
      };
      more();
    };
    const before = process.memoryUsage().rss;
    expect(await callKind(kind, { tool: toolAt('one'), args: '{}' })).toMatchObject({ code: 'tool_result_too_large' });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  test('C17: answers in reverse order reach their calls', async () => {
    one().onCall = (call) => void held.push(call);
    const calls = [1, 2, 3].map((n) => callKind(kind, { tool: toolAt('one'), args: `{"n":${n}}` }));
    await eventually(() => held.length === 3);
    for (const call of held.toReversed()) reply(call, { content: [{ type: 'text', text: call.args }] });
    expect((await Promise.all(calls)).map(dataOf)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  });

  test.each(['json', 'events'])('C17: an answer with the id of another call is refused (%s)', async (form) => {
    one().onCall = (call) => void held.push(call);
    const calls = [1, 2].map((n) => callKind(kind, { tool: toolAt('one'), args: `{"n":${n}}` }));
    await eventually(() => held.length === 2);
    const [first, second] = held as [McpCall, McpCall];
    const crossed = JSON.stringify({
      jsonrpc: '2.0',
      id: second.id,
      result: { content: [{ type: 'text', text: 'stolen' }] },
    });
    if (form === 'json') first.response.writeHead(200, { 'content-type': 'application/json' }).end(crossed);
    else first.response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${crossed}\n\n`);
    reply(second, { content: [{ type: 'text', text: 'own' }] });
    const outcomes = await Promise.all(calls);
    expect(outcomes.map((outcome) => outcome.kind).toSorted()).toEqual(['failure', 'result']);
    expect(JSON.stringify(outcomes)).not.toContain('stolen');
  });

  test('C14: a server that lost its sessions is initialised once for all who wait; others are untouched', async () => {
    const all = ['one', 'two', 'three'];
    const call = (name: string) => callKind(kind, { tool: toolAt(name), args: '{}' });
    await Promise.all(all.map(call));
    const before = all.map((name) => peers[name]?.initialized() ?? 0);
    one().restart();
    const outcomes = await Promise.all([...Array.from({ length: 5 }, () => 'one'), 'two', 'three'].map(call));
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(Array.from({ length: 7 }, () => 'result'));
    expect(all.map((name, at) => (peers[name]?.initialized() ?? 0) - (before[at] ?? 0))).toEqual([1, 0, 0]);
  });

  test('C14: a write meets a lost session before it is sent, and is sent once', async () => {
    const tool = toolAt('one', 'echo', { effect: 'write' });
    await callKind(kind, { tool, args: '{}' });
    one().restart();
    expect(await callKind(kind, { tool, args: '{"n":2}' })).toMatchObject({ kind: 'result' });
    expect(one().calls.filter((call) => call.args === '{"n":2}')).toHaveLength(1);
  });

  test.each<[string, (call: McpCall) => void]>([
    ['resets', ({ response }) => void response.destroy()],
    ['answers 404', ({ response }) => void response.writeHead(404).end()],
    ['answers 503', ({ response }) => void response.writeHead(503).end()],
  ])('C11: a server that executes a write, then %s, has executed once', async (_name, onCall) => {
    one().onCall = onCall;
    const outcome = await callKind(kind, { tool: toolAt('one', 'echo', { effect: 'write' }), args: '{"pay":1}' });
    expect(outcome).toMatchObject({ kind: 'failure', effect: 'possible' });
    expect(one().calls).toHaveLength(1);
  });
});

describe('lists of MCP servers', () => {
  const listed = async () => {
    const opened = await servers.open('demo', 'two');
    if ('failure' in opened) throw new Error(opened.failure.message);
    return await opened.connection.tools(AbortSignal.timeout(5_000));
  };
  const relist = async (pages: McpPeer['pages'], changes: number) => {
    const peer = peers['two'] as McpPeer;
    peer.pages = pages;
    return await eventually(async () => {
      peer.changeList();
      const list = await listed();
      return list.tools.size === changes && list;
    });
  };
  const many = (from: number, to: number) =>
    Array.from({ length: to - from }, (_unused, at) => toolNamed(`t${from + at}`));

  test('C15: 101 tools in pages of 50, one of them behind an empty cursor', async () => {
    const pages = new Map([
      ['', { tools: many(0, 50), nextCursor: 'a' }],
      ['a', { tools: many(50, 100), nextCursor: 'b' }],
      ['b', { tools: many(100, 101), nextCursor: '' }],
    ]);
    expect((await relist(pages, 101)).warnings).toEqual([expect.stringContaining('repeats a cursor')]);
  });

  test('C15: a cursor that repeats ends the list with a warning', async () => {
    const pages = new Map([
      ['', { tools: many(0, 2), nextCursor: 'a' }],
      ['a', { tools: many(2, 3), nextCursor: 'a' }],
    ]);
    expect((await relist(pages, 3)).warnings).toEqual([expect.stringContaining('repeats a cursor')]);
  });

  test('C6: one broken tool of five costs itself, with one warning', async () => {
    const broken = { name: 'broken', inputSchema: 'none' };
    const list = await relist(new Map([['', { tools: [...many(0, 2), broken, ...many(3, 5)] }]]), 4);
    expect(list.warnings).toEqual([expect.stringContaining('broken')]);
    expect([...list.tools.keys()]).toEqual(['t0', 't1', 't3', 't4']);
  });

  test('C6: a server that is down takes nobody else down', async () => {
    const outcomes = await Promise.all(
      ['one', 'absent', 'three'].map((name) => callKind(kind, { tool: toolAt(name), args: '{}' })),
    );
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['result', 'failure', 'result']);
  });
});
