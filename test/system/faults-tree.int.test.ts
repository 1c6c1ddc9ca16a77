/** Trees of runs: one purse, one trace, one cancel. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunView } from '@pawl/contracts';
import type { Conversation, SimReply } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;
/** Children that are being answered. */
const speaking: string[] = [];
const answering = Promise.withResolvers<void>();
/** 3,500 tokens by the stand-in's count, which cost 0.385 at the price of the route `dear`. */
const longAnswer = 'word'.repeat(3_500);

async function respond({ question, turn, observations }: Conversation): Promise<SimReply> {
  const [kind, part] = question.split(' ');
  if (kind === 'child') {
    speaking.push(question);
    await answering.promise;
    return { answer: longAnswer };
  }
  if (kind === 'leaf') return turn === 0 ? { calls: [{ tool: 'held', args: { question } }] } : { answer: 'The leaf.' };
  if (turn > 0)
    return {
      answer: `Heard ${observations
        .map(({ status }) => status)
        .toSorted()
        .join(' ')}.`,
    };
  if (kind === 'spread') {
    return { calls: ['1', '2', '3'].map((n) => ({ tool: 'ask_child', args: { question: `child ${n}` } })) };
  }
  const next = kind === 'top' ? { tool: 'ask_middle', args: { question: `middle ${part}` } } : undefined;
  return { calls: [next ?? { tool: 'ask_leaf', args: { question: `leaf ${part}` } }] };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  const { api } = stack;
  const url = `${stack.urls.llmGateway}/v1/routes/smart`;
  const route = await api.send<{ spec: { candidates: { baseUrl: string }[] } }>('GET', url);
  const baseUrl = route.body.spec.candidates[0]?.baseUrl ?? '';
  const price = { currency: 'USD', inputPerMillion: '1', outputPerMillion: '110' };
  await api.putRoute('dear', { model: 'scripted', baseUrl, price });
  await api.putTool('held', { http: { method: 'GET', url: `${tools.url}/held` } });
  for (const name of ['child', 'middle', 'leaf']) await api.putTool(`ask_${name}`, { agent: { name } });
  const limits = { spend: { amount: '0.50', currency: 'USD' } };
  await api.putAgent('child', { models: { think: 'dear' }, limits });
  await api.putAgent('leaf', { tools: ['held'] });
  await api.putAgent('middle', { tools: ['ask_leaf'] });
  await api.putAgent('root', { tools: ['ask_child', 'ask_middle'] });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

async function runsOf(agent: string): Promise<RunView[]> {
  const { body } = await stack.api.send<{ items: RunView[] }>(
    'GET',
    `${stack.urls.orchestrator}/v1/runs?agent=${agent}`,
  );
  return body.items;
}

describe('R13 budget per loop, not per tree', () => {
  // `ancestors` in sub-runs.ts carries every purse above into the work; the gateway holds on all of them at once.
  it('three parallel sub-runs wanting 0.50 each under a cap of 1.00: the third stops on money', async () => {
    const limits = { spend: { amount: '1.00', currency: 'USD' } };
    const { body: started } = await stack.api.startRun({ agent: 'root', input: 'spread', limits });
    const stopped = await eventually(async () => (await runsOf('child')).find(({ status }) => status !== 'running'));
    expect(stopped).toMatchObject({ status: 'paused', stopReason: 'max_spend', parent: { runId: started.id } });
    await eventually(() => speaking.length === 2);
    answering.resolve();
    const { body: run } = await stack.api.getRun(started.id, 30);
    expect(run).toMatchObject({ stopReason: 'final_answer', answer: 'Heard error ok ok.' });
    expect(speaking).toHaveLength(2);
    const children = await runsOf('child');
    const ofChildren = children.reduce((sum, { cost }) => sum + BigInt(cost.nanoUsd), 0n);
    expect(ofChildren).toBeGreaterThan(750_000_000n);
    expect(BigInt(run.cost.nanoUsd)).toBeGreaterThan(ofChildren);
    expect(BigInt(run.cost.nanoUsd)).toBeLessThanOrEqual(1_000_000_000n);
  });
});

describe('a tree of runs', () => {
  it('is one trace, and every level tells the one above what it has used', async () => {
    tools.release();
    const { body: run } = await stack.api.run({ agent: 'root', input: 'top 1' });
    expect(run).toMatchObject({ stopReason: 'final_answer', answer: 'Heard ok.', toolCalls: 1, steps: 2 });
    const [middle] = await runsOf('middle');
    const [leaf] = await runsOf('leaf');
    expect(middle).toMatchObject({ traceId: run.traceId, parent: { runId: run.id, callId: 'call_0_0' } });
    expect(leaf).toMatchObject({ traceId: run.traceId, parent: { runId: middle?.id, callId: 'call_0_0' } });
    expect(run.tokens).toBeGreaterThan(middle?.tokens ?? 0);
    expect(middle?.tokens).toBeGreaterThan(leaf?.tokens ?? 0);
    expect(BigInt(run.cost.nanoUsd)).toBeGreaterThan(BigInt(middle?.cost.nanoUsd ?? 0));
  });

  it('is cancelled as a whole', async () => {
    tools.hold();
    const { body: run } = await stack.api.startRun({ agent: 'root', input: 'top 2' });
    const held = await eventually(() => tools.calls.find(({ query }) => query['question'] === 'leaf 2'));
    await stack.api.cancel(run.id);
    await eventually(() => held.signal.aborted, { withinMs: 10_000 });
    expect((await stack.api.getRun(run.id, 10)).body.stopReason).toBe('cancelled');
    for (const agent of ['middle', 'leaf']) {
      await eventually(async () => (await runsOf(agent))[0]?.stopReason === 'cancelled', { what: `${agent} is over` });
    }
  });
});
