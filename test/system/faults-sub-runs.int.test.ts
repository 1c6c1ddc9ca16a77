/** An agent as a tool is a tool: its arguments are checked, its answer is cut, and people approve it, like those of any other. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Observation, RunView } from '@pawl/contracts';
import type { Conversation, SimReply } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;

const answer = `Beginning. ${'Something in the middle. '.repeat(400)}The end.\u202e`;

function respond({ question, turn, observations, messages }: Conversation): SimReply {
  const [kind] = question.split(' ');
  if (kind === 'part') return { answer };
  if (kind === 'pay') return turn === 0 ? { calls: [{ tool: 'pay', args: {} }] } : { answer: 'Paid.' };
  if (kind === 'wrong' && turn === 0) {
    const args = { question: 7, more: true };
    return { calls: ['ask_helper', 'look'].map((tool) => ({ tool, args })) };
  }
  if (kind === 'long' && turn === 1) {
    const { ref } = JSON.parse(messages.at(-1)?.text ?? '{}') as { ref?: string };
    return { calls: [{ tool: 'read', args: { ref, offset: 5_000 } }] };
  }
  const part = kind === 'delegate' ? 'pay 1' : 'part 1';
  if (turn === 0) return { calls: [{ tool: 'ask_helper', args: { question: part } }] };
  return { answer: `Heard ${observations.length}.` };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  const properties = { question: { type: 'string' } };
  const parameters = { type: 'object', properties, required: ['question'], additionalProperties: false };
  await stack.api.putTool('ask_helper', { agent: { name: 'helper' }, parameters });
  await stack.api.putTool('look', { http: { method: 'POST', url: `${tools.url}/done` }, parameters });
  await stack.api.putTool('read', {
    builtin: { name: 'read_result' },
    parameters: { type: 'object', properties: { ref: { type: 'string' }, offset: { type: 'integer' } } },
  });
  await stack.api.putTool('pay', { effect: 'write', http: { method: 'POST', url: `${tools.url}/done` } });
  await stack.api.putAgent('helper', { tools: ['pay'], approvals: [{ tool: 'pay' }] });
  const own = { tools: ['ask_helper', 'look', 'read'] };
  await stack.api.putAgent('clerk', own);
  await stack.api.putAgent('careful', { ...own, approvals: [{ tool: 'ask_helper' }] });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

type Seen = { tool: string; trust: string; observation: Observation };

async function observationsOf(runId: string): Promise<Seen[]> {
  const { body } = await stack.api.events(runId);
  return [...body.matchAll(/^event: observed\ndata: (.*)$/gm)]
    .map(([, data = '']) => JSON.parse(data) as Seen)
    .toSorted((a, b) => (a.tool < b.tool ? -1 : 1));
}

async function runsOf(agent: string): Promise<RunView[]> {
  const url = `${stack.urls.orchestrator}/v1/runs?agent=${agent}`;
  return (await stack.api.send<{ items: RunView[] }>('GET', url)).body.items;
}

it('is not begun with arguments that do not fit, and says so as any tool does', async () => {
  // `admitArguments` in child-of.ts, the same as in the tool-runner.
  const before = (await runsOf('helper')).length;
  const { body: run } = await stack.api.run({ agent: 'clerk', input: 'wrong arguments' });
  expect(run).toMatchObject({ stopReason: 'final_answer', answer: 'Heard 2.' });
  const [helper, look] = (await observationsOf(run.id)).map(({ observation }) => observation);
  expect(helper).toMatchObject({ status: 'error', errorCode: 'invalid_arguments', data: null });
  expect(helper?.message).toContain('/question: expected type string; got 7.');
  expect({ ...helper, suggestion: helper?.suggestion?.replace('ask_helper', 'look') }).toEqual(look);
  expect(await runsOf('helper')).toHaveLength(before);
});

it('has its answer cleaned and cut to what the agent sees at once, the whole kept to be read on', async () => {
  // `observationOf` in sub-runs.ts.
  const { body: run } = await stack.api.run({ agent: 'clerk', input: 'long answer' });
  expect(run).toMatchObject({ stopReason: 'final_answer', answer: 'Heard 2.' });
  const [part, rest] = await observationsOf(run.id);
  expect(part).toMatchObject({ tool: 'ask_helper', trust: 'untrusted' });
  expect(part?.observation).toMatchObject({
    status: 'ok',
    truncated: true,
    message: expect.stringContaining('left out'),
  });
  expect(part?.observation.data?.length).toBeLessThanOrEqual(2_000);
  expect(part?.observation.data).toContain('Beginning.');
  expect(part?.observation.data).toContain('The end.');
  expect(part?.observation.data).not.toContain('\u202e');
  expect(rest?.observation).toMatchObject({ status: 'ok', data: expect.stringContaining('middle') });
});

it('runs once a person has approved it, with what the person made of the arguments', async () => {
  // `executed` in calls.ts hands an approved call to whoever carries out its tool.
  const { body: run } = await stack.api.run({ agent: 'careful', input: 'approve me' });
  expect(run).toMatchObject({ status: 'waiting', stopReason: 'waiting_approval' });
  const [pending] = run.pending;
  if (!pending) throw new Error('nothing waits');
  await stack.api.decide(run.id, pending, { decision: 'edit', args: { question: 'part 2' } });
  const ended = await stack.api.getRunWhen(run.id, 'ended', 'paused');
  expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Heard 1.' });
  const [child] = await runsOf('helper');
  expect(child).toMatchObject({ parent: { runId: run.id }, stopReason: 'final_answer' });
  expect((await stack.api.events(child?.id ?? '')).body).toContain('"input":"part 2"');
});

it('may wait for a person as long as it has to, without using up the time of the run above it', async () => {
  // `hasOpenSubRun` in limits.ts, and `waitedMs` of what the sub-run has spent.
  const limits = { wallClock: '2s' };
  const { body: run } = await stack.api.startRun({ agent: 'clerk', input: 'delegate it', limits });
  const child = await eventually(async () =>
    (await runsOf('helper')).find(({ parent, status }) => parent?.runId === run.id && status === 'waiting'),
  );
  // Time is what is tested: the whole wall clock passes while a person thinks about it.
  await eventually(() => Date.now() > Date.parse(run.startedAt) + 4_000, { withinMs: 10_000 });
  expect((await stack.api.getRun(run.id)).body.status).toBe('running');
  const [pending] = child.pending;
  if (!pending) throw new Error('nothing waits');
  await stack.api.decide(child.id, pending, { decision: 'approve' });
  const ended = await stack.api.getRunWhen(run.id, 'ended', 'paused');
  expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Heard 1.' });
  expect(ended.waitedMs).toBeGreaterThan(2_000);
});
