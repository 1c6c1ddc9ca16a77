import { connect } from '@nats-io/transport-node';
import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolRefusal, type ToolCallContext } from '@pawl/client';
import { eventually, useTestServers } from '@pawl/testkit';
import { BrokenOffError } from '../call/outcome.ts';
import type { Kind } from './kind.ts';
import { createHeavyWork } from '../heavy/heavy-work.ts';
import { callKind, dataOf, describeKind, toolOf } from './kind.suite.ts';
import { createNatsKind } from './nats.ts';

const heavy = createHeavyWork();
const servers = useTestServers();
const resultBytesMax = 3_000_000;
let ours: NatsConnection;
let theirs: NatsConnection;
let kind: Kind;
let endlessCalls = 0;
const stops: (() => Promise<void>)[] = [];
const seen: { args: unknown; call: ToolCallContext }[] = [];

const on = (subject: string, more: Record<string, unknown> = {}) => toolOf({ nats: { subject }, ...more });
const worker = (subject: string, run: (args: Record<string, unknown>, call: ToolCallContext) => unknown) =>
  defineTool({ app: 'demo', name: 'worker', description: 'W.', subject, parameters: z.looseObject({}), run });

beforeAll(async () => {
  ours = await connect({ servers: servers.natsUrl });
  theirs = await connect({ servers: servers.natsUrl });
  kind = createNatsKind({ bus: { connection: ours, createInbox }, subjects: ['>'], resultBytesMax, heavy });
  const workers = [
    worker('tools.echo', (args, call) => {
      seen.push({ args, call });
      return { got: args };
    }),
    worker('tools.endless', async (_args, { signal }) => {
      endlessCalls += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      endlessCalls -= 1;
    }),
    worker('tools.large', ({ chars }) => 'x'.repeat(Number(chars))),
    worker('tools.refusing', () => {
      throw new ToolRefusal('There is no such city.\r\nNone.', 404);
    }),
    worker('tools.broken', () => {
      throw new Error('no memory left');
    }),
  ];
  stops.push(...workers.map((each) => each.serve(theirs)));
  theirs.subscribe('tools.text', { callback: (_error, message) => void message.respond(message.data) });
  await theirs.flush();
});
afterEach(() => void seen.splice(0));
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await theirs.close();
  await ours.close();
});

describeKind(
  'nats',
  () => ({
    kind,
    working: { tool: on('tools.echo'), args: '{"a":[1,{"b":"ü"}]}', data: { got: { a: [1, { b: 'ü' }] } } },
    exact: { tool: on('tools.text'), args: '{ "id": 9007199254740993 }' },
    endless: {
      tool: on('tools.endless'),
      args: '{}',
      isUnderWay: async () => endlessCalls === 1,
      isReleased: async () => endlessCalls === 0,
    },
    unreachable: { tool: on('tools.nobody'), args: '{}' },
    forbidden: { tool: on('pawl.act.default.demo.run_1.0.0'), args: '{}' },
    tooLarge: { tool: on('tools.large'), args: '{"chars":4000000}' },
    refused: [on('pawl.think.x'), on('$JS.API.STREAM.PURGE.RUNS'), on('tools.*'), on('_INBOX.a')],
  }),
  ['exact', 'endless', 'unreachable', 'forbidden', 'tooLarge'],
);

describe('workers on NATS', () => {
  test('learn who asks, until when, under which trace, and the key of an effect', async () => {
    const deadlineAtMs = Date.now() + 20_000;
    await callKind(
      kind,
      { tool: on('tools.echo'), args: '{"n":1}' },
      { effectKey: 'k1', runId: 'run_1', deadlineAtMs },
    );
    const [first] = seen;
    expect(first?.args).toEqual({ n: 1 });
    expect(first?.call).toMatchObject({ app: 'demo', runId: 'run_1', idempotencyKey: 'k1', deadlineAtMs });
    expect(first?.call.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
  });

  test('may answer with more than one message can hold', async () => {
    const data = dataOf(await callKind(kind, { tool: on('tools.large'), args: '{"chars":2500000}' }));
    expect(data).toHaveLength(2_500_002);
  });

  test('refuse a call with a sentence for the model, and nothing happened', async () => {
    const outcome = await callKind(kind, { tool: on('tools.refusing'), args: '{}' });
    expect(outcome).toMatchObject({ kind: 'failure', code: 'tool_failed', effect: 'none', isTransient: false });
    expect(outcome).toMatchObject({ data: '"There is no such city. None."' });
  });

  test('that fail leave open what happened, and their text stays with engineers', async () => {
    const outcome = await callKind(kind, { tool: on('tools.broken'), args: '{}' });
    expect(outcome).toMatchObject({ effect: 'possible', rawError: expect.stringContaining('no memory left') });
    expect(outcome).not.toHaveProperty('data');
  });

  test('C9: a cancel reaches the worker, and what it answers later is dropped', async () => {
    const tool = on('tools.endless');
    const controller = new AbortController();
    const outcome = callKind(kind, { tool, args: '{}' }, { signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    await eventually(() => endlessCalls === 1);
    controller.abort(new BrokenOffError('cancelled'));
    await eventually(() => endlessCalls === 0);
    expect(await outcome).toBeInstanceOf(BrokenOffError);
  });

  test('C9: a call that was cancelled while it waited for its turn is never begun', async () => {
    const begun: unknown[] = [];
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const slow = worker('tools.slow', async ({ n }) => {
      begun.push(n);
      await gate;
    });
    stops.push(slow.serve(theirs, { concurrency: 1 }));
    await theirs.flush();
    const tool = on('tools.slow');
    const first = callKind(kind, { tool, args: '{"n":1}' });
    await eventually(() => begun.length === 1);
    const controller = new AbortController();
    const second = callKind(kind, { tool, args: '{"n":2}' }, { signal: controller.signal }).catch(() => {});
    await ours.flush();
    controller.abort(new BrokenOffError('cancelled'));
    await second;
    await ours.flush();
    await theirs.flush();
    open();
    await first;
    await callKind(kind, { tool, args: '{"n":3}' });
    expect(begun).toEqual([1, 3]);
  });

  test('C17: replies in reverse order, and a reply to another call, reach nobody else', async () => {
    const requests: { reply: string; body: string }[] = [];
    const subscription = theirs.subscribe('tools.mixed', {
      callback: (_error, message) => void requests.push({ reply: message.reply ?? '', body: message.string() }),
    });
    await theirs.flush();
    const calls = ['{"n":1}', '{"n":2}', '{"n":3}'].map((args) => callKind(kind, { tool: on('tools.mixed'), args }));
    await eventually(() => requests.length === 3);
    for (const { reply, body } of requests.toReversed()) {
      theirs.publish(reply, body);
      theirs.publish(reply, '"a second reply"');
    }
    expect((await Promise.all(calls)).map(dataOf)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    subscription.unsubscribe();
  });

  test('a reply with a part missing is no result', async () => {
    const subscription = theirs.subscribe('tools.gap', {
      callback(_error, message) {
        for (const part of ['0', '2']) {
          const told = headers();
          told.set('pawl-part', part);
          if (part === '2') told.set('pawl-part-last', 'true');
          message.respond('x', { headers: told });
        }
      },
    });
    await theirs.flush();
    const outcome = await callKind(kind, { tool: on('tools.gap'), args: '{}' });
    expect(outcome).toMatchObject({ kind: 'failure', code: 'tool_failed', effect: 'possible' });
    subscription.unsubscribe();
  });

  test('apps are kept apart by a pattern of the operator', async () => {
    const apart = createNatsKind({
      bus: { connection: ours, createInbox },
      subjects: ['tools.{app}.>'],
      resultBytesMax,
      heavy,
    });
    expect(await callKind(apart, { tool: on('tools.other.x'), args: '{}' })).toMatchObject({
      code: 'target_not_allowed',
    });
  });

  test('C7: 150 MB are broken off at the cap, and memory stays', async () => {
    const before = process.memoryUsage().rss;
    let sent = 0;
    const piece = Buffer.alloc(500_000, 120);
    const flood = async (message: Msg) => {
      for (; sent < 300; sent += 1) {
        const told = headers();
        told.set('pawl-part', String(sent));
        message.respond(piece, { headers: told });
        await theirs.flush();
      }
    };
    const subscription = theirs.subscribe('tools.flood', { callback: (_error, message) => void flood(message) });
    await theirs.flush();
    const outcome = await callKind(kind, { tool: on('tools.flood'), args: '{}' });
    expect(outcome).toMatchObject({ code: 'tool_result_too_large' });
    await eventually(() => sent === 300);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    subscription.unsubscribe();
  });
});
