/** Kinds of faults around people: signals, parallel approvals, stale and forged ones, changed minds, pauses. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus } from '@pawl/bus';
import { fingerprint, streams, type PendingCall, type RunView } from '@pawl/contracts';
import { type Conversation, type SimReply, type SimSource } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

type Script = (conversation: Conversation, source: SimSource) => SimReply;

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;
let mind = 0;
let seen: object[] = [];

const refund = (order: string, amount = 1) => ({ tool: 'refund', args: { order, amount } });
const look = (q: string) => ({ tool: 'look', args: { q } });
const mixed = [look('x'), refund('f'), look('y'), { tool: 'count', args: { q: 'x' } }];
const inTurns =
  (...replies: SimReply[]): Script =>
  ({ turn }) =>
    replies[turn] ?? { answer: 'Done.' };
const scripts: Record<string, Script> = {
  'tool under way': inTurns({ calls: [{ tool: 'held', args: { q: 'one' } }] }),
  'three refunds': inTurns({ calls: [refund('a', 1), refund('b', 2), refund('c', 3)] }),
  'the same again': inTurns({ calls: [refund('d')] }, { calls: [refund('d')] }),
  'a changing mind': ({ turn }) => (turn === 0 ? { calls: [refund('e', (mind += 1))] } : { answer: 'Done.' }),
  'one gated, three free': ({ turn, last }) => {
    seen = last.map(({ tool, data }) => ({ tool, data }));
    return turn === 0 ? { calls: mixed } : { answer: 'Done.' };
  },
};

const start = () =>
  startStack({
    servers,
    models: {
      scripted: {
        respond: (conversation, source) => scripts[conversation.question]?.(conversation, source) ?? { answer: 'No.' },
      },
    },
  });

beforeAll(async () => {
  tools = await startToolServer();
  stack = await start();
  const http = { method: 'POST' as const, url: `${tools.url}/done` };
  await stack.api.putTool('refund', { effect: 'write', http });
  await stack.api.putTool('look', { http });
  await stack.api.putTool('count', { http });
  await stack.api.putTool('held', { effect: 'write', http: { ...http, url: `${tools.url}/held` } });
  await stack.api.putAgent('clerk', {
    tools: ['refund', 'look', 'count', 'held'],
    approvals: [{ tool: 'refund' }],
  });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

async function startWaiting(input: string): Promise<{ run: RunView; calls: PendingCall[] }> {
  const { body } = await stack.api.startRun({ agent: 'clerk', input });
  const run = await stack.api.getRunWhen(body.id, 'waiting');
  return { run, calls: run.pending };
}

function pendingOf(calls: PendingCall[], index: number): PendingCall {
  const call = calls[index];
  if (!call) throw new Error(`nothing waits at place ${index}`);
  return call;
}

function refundsOf(order: string) {
  return tools.calls.filter(({ body }) => body['order'] === order).map(({ body }) => body);
}

async function observationsOf(runId: string): Promise<Record<string, unknown>[]> {
  return await eventually(async () => {
    const { body } = await stack.api.getTrace(runId);
    return body.records?.at(-1)?.['kind'] === 'ended' && body.records.filter(({ kind }) => kind === 'observed');
  });
}

/** How much work was ever put into the stream of calls. */
async function dispatched(): Promise<number> {
  const bus = await connectBus({ url: servers.natsUrl, name: 'counting' });
  const { state } = await bus.jsm.streams.info(streams.act);
  await bus.close();
  return state.last_seq;
}

describe('R5 a wake-up dispatches a step that is in flight', () => {
  // Two protect: `doneAtMs` in live-run.ts asks for each thing once, and `lastSubjectSequence: 0` in publish.ts refuses
  // work whose subject is still under way. Without either this fails when both are gone.
  it('20 signals while one tool runs: one dispatch, one effect', async () => {
    tools.hold();
    const before = await dispatched();
    const { body } = await stack.api.startRun({ agent: 'clerk', input: 'tool under way' });
    await eventually(() => tools.calls.some(({ path }) => path === '/held'));
    for (let n = 0; n < 20; n += 1) {
      const { status } = await stack.api.signal(body.id, { text: `Signal ${n}.` });
      expect(status).toBe(202);
    }
    tools.release();
    const { body: run } = await stack.api.getRun(body.id, 30);
    expect(run).toMatchObject({ stopReason: 'final_answer', toolCalls: 1 });
    expect(tools.calls.filter(({ path }) => path === '/held')).toHaveLength(1);
    expect(await dispatched()).toBe(before + 1);
  });
});

describe('R7 answers to parallel approvals reach the wrong call', () => {
  // An approval is filed under its own call: `approvalRoute` in words.ts finds it by callId, `evolve` keeps it by `i`.
  it('three gated calls answered in reverse order, one edited, one denied: each gets its own', async () => {
    const { run, calls } = await startWaiting('three refunds');
    expect(calls.map(({ args }) => args)).toEqual([refund('a', 1), refund('b', 2), refund('c', 3)].map((c) => c.args));
    const edit = { decision: 'edit', args: '{"order":"b","amount":20,"ref":9007199254740993}' };
    const rounded = { decision: 'edit', args: { order: 'b', amount: 20, ref: 2 ** 53 + 2 } };
    expect(await stack.api.decide(run.id, pendingOf(calls, 1), rounded)).toMatchObject({ status: 400 });
    expect(await stack.api.decide(run.id, pendingOf(calls, 2), { decision: 'deny', reason: 'too much' })).toMatchObject(
      {
        status: 200,
      },
    );
    expect(await stack.api.decide(run.id, pendingOf(calls, 1), edit)).toMatchObject({ status: 200 });
    expect(await stack.api.decide(run.id, pendingOf(calls, 0), { decision: 'approve' })).toMatchObject({ status: 200 });
    expect((await stack.api.getRun(run.id, 30)).body.stopReason).toBe('final_answer');
    expect(refundsOf('a')).toEqual([{ order: 'a', amount: 1 }]);
    expect(refundsOf('b')).toMatchObject([{ order: 'b', amount: 20 }]);
    expect((await stack.api.events(run.id)).body).toContain(String.raw`\"ref\":9007199254740993`);
    expect(refundsOf('c')).toEqual([]);
    const observed = new Map((await observationsOf(run.id)).map(({ callId, status }) => [callId, status]));
    expect(Object.fromEntries(observed)).toEqual({ call_0_0: 'ok', call_0_1: 'ok', call_0_2: 'denied' });
  });
});

describe('R8 a stale approval applies to whatever is pending now', () => {
  // `approvalRoute` in words.ts: only a call that waits now and has this very id takes the decision.
  it('deny A, the same is proposed as B, A is approved after all: 409, B untouched', async () => {
    const { run, calls } = await startWaiting('the same again');
    const first = pendingOf(calls, 0);
    await stack.api.decide(run.id, first, { decision: 'deny' });
    const second = await eventually(async () => {
      const { body } = await stack.api.getRun(run.id);
      return body.pending[0]?.callId !== first.callId && body.pending[0];
    });
    expect(second.argsHash).toBe(first.argsHash);
    const stale = await stack.api.decide(run.id, first, { decision: 'approve' });
    expect(stale).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await stack.api.getRun(run.id)).body.pending).toEqual([second]);
    expect(refundsOf('d')).toEqual([]);
    expect(await stack.api.decide(run.id, second, { decision: 'approve' })).toMatchObject({ status: 200 });
    expect((await stack.api.getRun(run.id, 30)).body.stopReason).toBe('final_answer');
    expect(refundsOf('d')).toHaveLength(1);
  });
});

describe('R9 approved arguments differ from executed ones', () => {
  // `argsHash` is compared in `approvalRoute`; what is executed is what `acted` holds (`argumentsOf`), never a new thought.
  it('a model that changes its mind on every call: what was shown is what is done', async () => {
    const { run, calls } = await startWaiting('a changing mind');
    const shown = pendingOf(calls, 0);
    const other = fingerprint({ order: 'e', amount: 1_000 });
    const forged = await stack.api.decide(run.id, { ...shown, argsHash: other }, { decision: 'approve' });
    expect(forged).toMatchObject({ status: 409, body: { code: 'conflict' } });
    await stack.stop();
    stack = await start();
    expect((await stack.api.getRunWhen(run.id, 'waiting')).pending).toEqual(calls);
    await stack.api.decide(run.id, shown, { decision: 'approve' });
    expect((await stack.api.getRun(run.id, 30)).body.stopReason).toBe('final_answer');
    expect(refundsOf('e')).toEqual([shown.args]);
    expect(refundsOf('e').map(fingerprint)).toEqual([shown.argsHash]);
  });
});

describe('R10 a pause loses the results of the free calls of the same step', () => {
  // `actOn` in calls.ts asks only for calls without an observation; those that are there stay, also over a restart.
  it('one gated and three free calls, everything restarted meanwhile: all results once, in order', async () => {
    const { run, calls } = await startWaiting('one gated, three free');
    expect(calls.map(({ tool }) => tool)).toEqual(['refund']);
    const made = tools.calls.length;
    await stack.stop();
    stack = await start();
    await stack.api.getRunWhen(run.id, 'waiting');
    await stack.api.decide(run.id, pendingOf(calls, 0), { decision: 'approve' });
    expect((await stack.api.getRun(run.id, 30)).body).toMatchObject({ stopReason: 'final_answer', toolCalls: 4 });
    expect(tools.calls.slice(made).map(({ body }) => body)).toEqual([refund('f').args]);
    const observed = await observationsOf(run.id);
    expect(
      observed
        .map(({ callId, status }) => `${String(callId)} ${String(status)}`)
        .toSorted((a, b) => a.localeCompare(b)),
    ).toEqual([0, 1, 2, 3].map((i) => `call_0_${i} ok`));
    expect(seen).toEqual(mixed.map(({ tool, args }) => ({ tool, data: { done: args } })));
  });
});
