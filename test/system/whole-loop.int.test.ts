/** What the loop can do, each through the HTTP API on real servers: people, forks, sessions, strategies, kinds of answers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus, readFacts } from '@pawl/bus';
import type { AgentSpec, RunView } from '@pawl/contracts';
import type { Conversation, SimReply } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;
/** What the model was told in its last turn, by question. */
const told = new Map<string, Conversation>();

const look = (q: string) => ({ tool: 'look', args: { q } });
const lastOf = ({ last }: Conversation) => JSON.stringify(last.map(({ status, data }) => ({ status, data })));
const scripts: Record<string, (conversation: Conversation) => SimReply> = {
  asking: (conversation) =>
    conversation.turn === 0
      ? { calls: [{ tool: 'ask_user', args: { question: 'Which country?' } }] }
      : { answer: lastOf(conversation) },
  expiring: ({ turn }) => (turn === 0 ? { calls: [{ tool: 'send', args: { to: 'nobody' } }] } : { answer: 'Sent.' }),
  sending: ({ turn }) => {
    if (turn === 0) return { calls: [look('a')] };
    return turn === 1 ? { calls: [{ tool: 'post', args: { to: 'all' } }] } : { answer: 'Sent.' };
  },
  waiting: ({ turn }) => (turn === 0 ? { calls: [{ tool: 'held', args: { q: 'w' } }] } : { answer: 'Waited.' }),
  planning: ({ latest, turn, tools: offered }) => {
    if (offered.length === 0) return { answer: turn === 0 ? '1. Look at a\n2. Look at b' : 'Both were looked at.' };
    return { calls: [look(latest.includes('→ Look at a') ? 'a' : 'b')] };
  },
  once: ({ tools: offered }) => (offered.length > 0 ? { calls: [look('a'), look('b')] } : { answer: 'One look.' }),
  spoken: ({ latest }) =>
    latest.includes('Observation:')
      ? { answer: 'Final Answer: It was found.' }
      : { answer: 'Thought: I look.\nAction: {"tool": "look", "args": {"q": "text"}}' },
  counted: ({ turn }) => ({ answer: ['It is five.', '{"count":"five"}'][turn] ?? '```json\n{"count":5}\n```' }),
  secret: ({ turn }) => (turn === 0 ? { say: 'A private thought.', calls: [look('a')] } : { answer: 'Public.' }),
};

function respond(conversation: Conversation): SimReply {
  told.set(conversation.question, conversation);
  return scripts[conversation.question]?.(conversation) ?? { answer: `You said: ${conversation.question}` };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  const { api } = stack;
  const http = { method: 'POST' as const, url: `${tools.url}/done` };
  await api.putTool('look', { http });
  await api.putTool('send', { effect: 'write', http });
  await api.putTool('post', { effect: 'write', http });
  await api.putTool('held', { effect: 'write', http: { ...http, url: `${tools.url}/held` } });
  const asking = { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] };
  await api.putTool('ask_user', { parameters: asking, builtin: { name: 'ask_user' } });
  const schema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
  const all = ['look', 'send', 'post', 'held', 'ask_user'];
  const agents: Record<string, Partial<AgentSpec>> = {
    clerk: { tools: all, approvals: [{ tool: 'send', expiresIn: '1s' }] },
    planner: { tools: ['look'], strategy: 'plan-execute' },
    quick: { tools: ['look'], strategy: 'single-call' },
    speaker: { tools: ['look'], toolCalling: 'text' },
    counter: { answer: { schema } },
    secretive: { tools: ['look'], thoughts: 'hidden' },
  };
  for (const [name, spec] of Object.entries(agents)) await api.putAgent(name, spec);
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

const run = async (agent: string, input: string, more: object = {}): Promise<RunView> =>
  (await stack.api.run({ agent, input, ...more })).body;
const callsOf = (path: string) => tools.calls.filter((call) => call.path === path).map(({ body }) => body);

describe('people', () => {
  it('an approval that nobody gives ends the run when it expires, without the effect', async () => {
    const { body: started } = await stack.api.startRun({ agent: 'clerk', input: 'expiring' });
    const { pending } = await stack.api.getRunWhen(started.id, 'waiting');
    expect(pending).toMatchObject([{ tool: 'send', kind: 'approval', expiresAt: expect.any(String) }]);
    const ended = await stack.api.getRunWhen(started.id, 'ended');
    expect(ended).toMatchObject({ stopReason: 'approval_expired', pending: [], toolCalls: 1 });
    expect(callsOf('/done')).not.toContainEqual({ to: 'nobody' });
    const late = await stack.api.decide(started.id, pending[0] ?? { callId: '', argsHash: '' }, {
      decision: 'approve',
    });
    expect(late).toMatchObject({ status: 409, body: { code: 'run_ended' } });
  });

  it('a question of the agent is answered by a signal', async () => {
    const { body: started } = await stack.api.startRun({ agent: 'clerk', input: 'asking' });
    const waiting = await stack.api.getRunWhen(started.id, 'waiting');
    expect(waiting).toMatchObject({ stopReason: 'waiting_input', pending: [{ kind: 'input', why: 'Which country?' }] });
    expect(await stack.api.signal(started.id, { text: 'Brazil' })).toMatchObject({ status: 202 });
    expect(await stack.api.getRunWhen(started.id, 'ended')).toMatchObject({
      stopReason: 'final_answer',
      answer: '[{"status":"ok","data":{"answer":"Brazil"}}]',
    });
  });
});

describe('a fork', () => {
  it('reuses what was observed, asks anew from its step, and may not write unless it is allowed to', async () => {
    const original = await run('clerk', 'sending');
    expect(original).toMatchObject({ answer: 'Sent.', steps: 3, toolCalls: 2 });
    const made = tools.calls.length;
    const { status, body: fork } = await stack.api.fork(original.id, { fromStep: 2 });
    expect(status).toBe(201);
    const ended = await stack.api.getRunWhen(fork.id, 'ended');
    expect(ended).toMatchObject({ answer: 'Sent.', forkOf: { runId: original.id, fromStep: 2 }, toolCalls: 0 });
    expect(tools.calls).toHaveLength(made);
    const statuses = told.get('sending')?.observations.map(({ tool, status: of }) => [tool, of]);
    expect(statuses).toEqual([
      ['look', 'ok'],
      ['post', 'denied'],
    ]);
    const { body: writing } = await stack.api.fork(original.id, { fromStep: 2, allowWrites: true });
    expect((await stack.api.getRunWhen(writing.id, 'ended')).toolCalls).toBe(1);
    expect(tools.calls.slice(made).map(({ body }) => body)).toEqual([{ to: 'all' }]);
  });

  it('takes another input and other instructions', async () => {
    const original = await run('clerk', 'sending');
    const { body: fork } = await stack.api.fork(original.id, { fromStep: 2, input: 'Hm?', instructions: 'Be kind.' });
    expect((await stack.api.getRunWhen(fork.id, 'ended')).answer).toBe('You said: Hm?');
    expect(told.get('Hm?')).toMatchObject({ system: expect.stringContaining('Be kind.'), turn: 1 });
  });

  it('takes over no step that is still under way', async () => {
    tools.hold();
    const { body: started } = await stack.api.startRun({ agent: 'clerk', input: 'waiting' });
    await eventually(() => callsOf('/held').length === 1);
    expect(await stack.api.fork(started.id, { fromStep: 2 })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    });
    tools.release();
    expect((await stack.api.getRunWhen(started.id, 'ended')).answer).toBe('Waited.');
    expect(callsOf('/held')).toHaveLength(1);
  });
});

describe('a session', () => {
  it('lets a follow-up question see the answer before', async () => {
    const user = { id: 'ana' };
    await run('clerk', 'My name is Ana.', { session: 's1', user });
    await run('clerk', 'And now?', { session: 's1', user });
    const seen = told.get('My name is Ana.')?.messages.slice(1);
    expect(seen).toEqual([
      { role: 'user', text: 'My name is Ana.' },
      { role: 'assistant', text: 'You said: My name is Ana.' },
      { role: 'user', text: 'And now?' },
    ]);
    await run('clerk', 'Who am I?', { session: 's1', user: { id: 'bob' } });
    expect(told.get('Who am I?')?.messages).toHaveLength(2);
  });
});

describe('strategies and answers', () => {
  it('plan-execute: a plan whose items tick off, then the answer', async () => {
    const made = tools.calls.length;
    const ended = await run('planner', 'planning');
    expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Both were looked at.', steps: 2, toolCalls: 2 });
    expect(tools.calls.slice(made).map(({ body }) => body)).toEqual([{ q: 'a' }, { q: 'b' }]);
    const shown = told.get('planning')?.messages.map(({ text }) => text);
    expect(shown?.some((text) => text.includes('1. [x] Look at a\n2. [ ] Look at b'))).toBe(true);
  });

  it('single-call: one thought with its calls, then the answer', async () => {
    expect(await run('quick', 'once')).toMatchObject({ answer: 'One look.', stopReason: 'final_answer', steps: 1 });
  });

  it('text protocol: actions and the answer out of plain text', async () => {
    const ended = await run('speaker', 'spoken');
    expect(ended).toMatchObject({ answer: 'It was found.', stopReason: 'final_answer', steps: 2, toolCalls: 1 });
    expect(told.get('spoken')?.tools).toEqual([]);
  });

  it('structured answers: asked again until they fit', async () => {
    const ended = await run('counter', 'counted');
    expect(ended).toMatchObject({ answer: '{"count":5}', stopReason: 'final_answer', partial: false, steps: 3 });
  });

  it('hidden thoughts: neither streamed nor stored', async () => {
    const ended = await run('secretive', 'secret');
    expect(ended).toMatchObject({ answer: 'Public.', toolCalls: 1 });
    const bus = await connectBus({ url: servers.natsUrl, name: 'looking' });
    const facts = await readFacts(bus, 'demo', ended.id);
    await bus.close();
    const trace = await eventually(async () => {
      const { body } = await stack.api.getTrace(ended.id);
      return body.records?.at(-1)?.['kind'] === 'ended' && body;
    });
    expect(facts.length).toBeGreaterThan(4);
    for (const kept of [facts, trace, told.get('secret')]) expect(JSON.stringify(kept)).not.toContain('private');
    expect(JSON.stringify(trace)).toContain('Public.');
  });
});
