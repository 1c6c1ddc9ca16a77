/** Kinds of faults around stopping: what a limit, a cancel, a deadline or a denial leaves behind, and how a run goes on. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunView, StopReason } from '@pawl/contracts';
import type { Conversation, SimReply, SimSource } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

type Script = (conversation: Conversation, source: SimSource) => SimReply | Promise<SimReply>;

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;
/** Questions that are answered properly from now on. */
const healed = new Set<string>();
const speaking: { question: string; signal: AbortSignal }[] = [];
let speech = Promise.withResolvers<void>();

const call = (tool: string, args: object = {}) => ({ tool, args });
const scripts: Record<string, Script> = {
  endless: ({ turn }) => ({ say: 'Looking.', calls: [call('look', { turn })] }),
  slow: () => ({ say: 'Waiting.', calls: [call('held')] }),
  repeating: () => ({ say: 'Again.', calls: [call('look', { q: 'same' })] }),
  swinging: ({ turn }) => ({ say: 'To and fro.', calls: [call('look', { q: turn % 2 })] }),
  nothing: ({ turn }) => ({ say: 'Nothing there.', calls: [call('nothing', { turn })] }),
  silent: () => ({ fail: { status: 503 } }),
  sloppy: () => ({ answer: '{"n":"many"}' }),
  model: async ({ question }, { signal }) => {
    speaking.push({ question, signal });
    await speech.promise;
    return { answer: 'Too late.' };
  },
  calls: () => ({ calls: [call('look', { q: 1 }), call('held', { q: 1 })] }),
  approval: () => ({ calls: [call('look', { q: 1 }), call('refund', { q: 1 })] }),
  five: ({ turn }) => ({ calls: [call('held', { turn })] }),
  delegate: () => ({ calls: [call('delegate', { input: 'five in a sub-run' })] }),
};

function respond(conversation: Conversation, source: SimSource): SimReply | Promise<SimReply> {
  const [kind = ''] = conversation.question.split(' ');
  if (healed.has(conversation.question) || conversation.latest === 'Go on.') return { answer: '{"n":1}' };
  if (conversation.tools.length === 0 && conversation.turn > 0) return { answer: 'Best so far.' };
  return scripts[kind]?.(conversation, source) ?? { answer: 'No script.' };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  const post = (path: string) => ({ method: 'POST' as const, url: `${tools.url}${path}` });
  await stack.api.putTool('look', { http: post('/done') });
  await stack.api.putTool('nothing', { http: post('/nothing') });
  await stack.api.putTool('held', { effect: 'write', http: post('/held') });
  await stack.api.putTool('refund', { effect: 'write', http: post('/done') });
  const spec = { tools: ['look', 'nothing', 'held', 'refund'], approvals: [{ tool: 'refund' }] };
  await stack.api.putAgent('clerk', spec);
  await stack.api.putTool('delegate', { agent: { name: 'clerk' } });
  await stack.api.putAgent('boss', { tools: ['delegate'] });
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  await stack.api.putAgent('counter', { ...spec, answer: { schema } });
  const price = { currency: 'USD', inputPerMillion: '100', outputPerMillion: '1' };
  await stack.api.putRoute('dear', { model: 'scripted', baseUrl: await modelUrl(), price });
  await stack.api.putAgent('spender', { ...spec, models: { think: 'dear' } });
  tools.hold();
});
afterEach(() => {
  tools.release();
  tools.hold();
  speech.resolve();
  speech = Promise.withResolvers<void>();
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

async function modelUrl(): Promise<string> {
  const url = `${stack.urls.llmGateway}/v1/routes/smart`;
  const { body } = await stack.api.send<{ spec: { candidates: { baseUrl: string }[] } }>('GET', url);
  return body.spec.candidates[0]?.baseUrl ?? '';
}

type TraceRecord = { kind: string; callId?: string; status?: string; tool?: string };

async function recordsOf(runId: string, isComplete: (records: TraceRecord[]) => boolean): Promise<TraceRecord[]> {
  return await eventually(async () => {
    const { body } = await stack.api.getTrace(runId);
    const records = (body.records ?? []) as unknown as TraceRecord[];
    return isComplete(records) && records;
  });
}

const hasStopped = (records: TraceRecord[]) => ['ended', 'paused'].includes(records.at(-1)?.kind ?? '');

function breachesOfOrder(): number {
  return stack.sim.requests.filter(({ code }) => code === 'invalid_message_order').length;
}

type Limited = { reason: StopReason; kind: string; limits?: object; more?: object; answer?: unknown };

function agentFor(reason: StopReason): string {
  if (reason === 'invalid_answer') return 'counter';
  return reason === 'max_spend' ? 'spender' : 'clerk';
}

describe('R14 the limit throws the work away', () => {
  // `close` in decide.ts makes the closing call from what limits.ts keeps back; `resumableReasons` in stop.ts makes it a
  // pause, which `resumeRoute` in words.ts ends with more.
  it.each<Limited>([
    { reason: 'max_steps', kind: 'endless', limits: { steps: 2 }, more: { steps: 20 } },
    { reason: 'max_tool_calls', kind: 'endless', limits: { toolCalls: 2 }, more: { toolCalls: 20 } },
    { reason: 'max_tokens', kind: 'endless', limits: { tokens: 3_500 }, more: { tokens: 50_000 } },
    { reason: 'max_spend', kind: 'endless', limits: { spend: usd('1.00') }, more: { spend: usd('9.00') } },
    {
      reason: 'deadline',
      kind: 'slow',
      limits: { wallClock: '3s' },
      more: { wallClock: '60s' },
      answer: expect.any(String),
    },
    { reason: 'repeated_action', kind: 'repeating' },
    { reason: 'no_new_information', kind: 'nothing' },
    { reason: 'model_unavailable', kind: 'silent', answer: null },
    { reason: 'invalid_answer', kind: 'sloppy', answer: '{"n":"many"}' },
  ])('$reason: says so, gives the best answer so far, goes on when it gets more', async (limited) => {
    const { reason, kind, limits, more = {}, answer = 'Best so far.' } = limited;
    const input = `${kind} until ${reason}`;
    const { body: started } = await stack.api.startRun({
      agent: agentFor(reason),
      input,
      ...(limits ? { limits } : {}),
    });
    const paused = await stack.api.getRunWhen(started.id, 'paused', 'ended');
    expect(paused).toMatchObject({ status: 'paused', stopReason: reason, endedAt: null, answer, partial: true });
    healed.add(input);
    expect(await stack.api.resume(started.id, more)).toMatchObject({ status: 202 });
    const ended = await stack.api.getRunWhen(started.id, 'ended', 'paused');
    expect(ended).toMatchObject({ stopReason: 'final_answer', answer: '{"n":1}', partial: false });
    expect(ended.steps).toBe(paused.steps + 1);
    expect(breachesOfOrder()).toBe(0);
  });

  it('refuses to resume what would stop at once', async () => {
    const { body: run } = await stack.api.run({ agent: 'clerk', input: 'endless again', limits: { steps: 2 } });
    expect(await stack.api.resume(run.id)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    const calls = { agent: 'clerk', input: 'endless again', limits: { toolCalls: 1 } };
    const { body: used } = await stack.api.run(calls);
    expect(await stack.api.resume(used.id, { steps: 20 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('limits.toolCalls has to be above 1') },
    });
  });
});

describe('R15 endless repeat of one call, or a swing between two', () => {
  // `circlingBefore` in guards.ts: a word to the model the first time, a stop the second time.
  it.each(['repeating', 'swinging'])('%s: stopped, nothing is asked for more than four times', async (kind) => {
    const before = tools.calls.length;
    const { body: run } = await stack.api.run({ agent: 'clerk', input: `${kind} for ever` });
    expect(run).toMatchObject({ status: 'paused', stopReason: 'repeated_action', answer: 'Best so far.' });
    const records = await recordsOf(run.id, hasStopped);
    const asked = records.filter((record) => record.kind === 'observed');
    expect(asked.length).toBeLessThanOrEqual(kind === 'repeating' ? 4 : 8);
    expect(tools.calls.length - before).toBe(kind === 'repeating' ? 1 : 2);
  });
});

describe('R11 a call without a result: every later model call fails', () => {
  // `nextOf` in calls.ts answers what a stop leaves open (`stopped`), where those at work have not let go by themselves; the stand-in refuses a conversation that breaks the order.
  it.each([
    ['cancel', 'model'],
    ['cancel', 'calls'],
    ['cancel', 'approval'],
    ['deadline', 'model'],
    ['deadline', 'calls'],
    ['deny', 'approval'],
  ])('%s while waiting for the %s, then on', async (how, phase) => {
    const input = `${phase} when ${how} comes`;
    const limits = how === 'deadline' ? { wallClock: '3s' } : {};
    const { body: started } = await stack.api.startRun({ agent: 'clerk', input, limits });
    await isIn(phase, { runId: started.id, input });
    const stopped = await stopBy(how, started.id);
    const records = await recordsOf(started.id, hasStopped);
    const results = records.filter(({ kind }) => kind === 'observed').map(({ callId }) => callId);
    expect(results.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(
      phase === 'model' ? [] : ['call_0_0', 'call_0_1'],
    );
    expect((await goOnAfter(stopped)).stopReason).toBe('final_answer');
    expect(breachesOfOrder()).toBe(0);
  });
});

async function isIn(phase: string, of: { runId: string; input: string }): Promise<void> {
  if (phase === 'model') await eventually(() => speaking.some(({ question }) => question === of.input));
  else if (phase === 'approval') await stack.api.getRunWhen(of.runId, 'waiting');
  else await recordsOf(of.runId, (records) => records.some(({ kind }) => kind === 'observed'));
}

async function stopBy(how: string, runId: string): Promise<RunView> {
  if (how === 'cancel') await stack.api.cancel(runId);
  if (how === 'deny') {
    healed.add('approval when deny comes');
    const [waiting] = (await stack.api.getRun(runId)).body.pending;
    if (waiting) await stack.api.decide(runId, waiting, { decision: 'deny' });
  }
  return await stack.api.getRunWhen(runId, 'paused', 'ended');
}

/** The run itself with more time, or, where it is over, a fork that takes everything over. */
async function goOnAfter(run: RunView): Promise<RunView> {
  if (run.status === 'paused') {
    await stack.api.signal(run.id, { text: 'Go on.' });
    await stack.api.resume(run.id, { wallClock: '60s' });
    return await stack.api.getRunWhen(run.id, 'ended');
  }
  const { body: fork } = await stack.api.fork(run.id, { fromStep: run.steps + 1, input: 'Go on.' });
  return await stack.api.getRunWhen(fork.id, 'ended');
}

describe('R12 cancel changes the record, not the work', () => {
  // The gateway and the tool-runner abort on the run's stop (run-stops.ts; `subscribeStops`), `decide` asks for nothing
  // more once `cancel` is there, and guard-write.ts refuses writes of a cancelled run.
  it('in a model stream: the connection is closed within 2 s, nothing more is asked', async () => {
    const { body: run } = await stack.api.startRun({ agent: 'clerk', input: 'model to be left' });
    const { signal } = await eventually(() => speaking.find(({ question }) => question === 'model to be left'));
    const leftAt = timeOf(signal);
    await stack.api.cancel(run.id, { reason: 'enough' });
    expect((await stack.api.getRunWhen(run.id, 'ended')).steps).toBe(0);
    expect((await stack.api.getRun(run.id)).body).toMatchObject({
      stopReason: 'cancelled',
      detail: 'The run was cancelled: enough',
    });
    await expectStoppedWithin2s(run.id, await leftAt);
  });

  it('in call 1 of 5: the connection is closed within 2 s, no further effect, the record says what ran', async () => {
    const { body: run } = await stack.api.startRun({ agent: 'clerk', input: 'five calls' });
    const before = await eventually(() => tools.calls.find(({ path, body }) => path === '/held' && body['turn'] === 0));
    const made = tools.calls.length;
    const leftAt = timeOf(before.signal);
    await stack.api.cancel(run.id);
    const ended = await stack.api.getRunWhen(run.id, 'ended');
    tools.release();
    expect(ended).toMatchObject({ stopReason: 'cancelled', toolCalls: 1 });
    await expectStoppedWithin2s(run.id, await leftAt);
    const records = await recordsOf(run.id, hasStopped);
    const results = records.filter(({ kind }) => kind === 'observed');
    expect(results).toHaveLength(1);
    expect(['cancelled', 'in_doubt']).toContain(results[0]?.status);
    expect(tools.calls).toHaveLength(made);
  });

  it('in a sub-run: so is the whole tree', async () => {
    const made = tools.calls.length;
    const { body: run } = await stack.api.startRun({ agent: 'boss', input: 'delegate five calls' });
    const before = await eventually(() => tools.calls.slice(made).find(({ path }) => path === '/held'));
    const leftAt = timeOf(before.signal);
    await stack.api.cancel(run.id);
    await stack.api.getRunWhen(run.id, 'ended');
    await expectStoppedWithin2s(run.id, await leftAt);
  });
});

/** When a signal was aborted. */
function timeOf(signal: AbortSignal): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  signal.addEventListener('abort', () => resolve(Date.now()), { once: true });
  if (signal.aborted) resolve(Date.now());
  return promise;
}

/** By what is recorded: the cancel, what was let go, and the end. Time is what is tested: a cancel takes 2 s at the most. */
async function expectStoppedWithin2s(runId: string, leftAtMs: number): Promise<void> {
  const { body } = await stack.api.events(runId);
  const facts = [...body.matchAll(/^event: (cancel|ended)\ndata: (.*)$/gm)].map(([, , data = '']) =>
    Date.parse((JSON.parse(data) as { at: string }).at),
  );
  const [cancelledAtMs = Infinity, endedAtMs = Infinity] = facts;
  expect(facts).toHaveLength(2);
  expect(leftAtMs - cancelledAtMs).toBeLessThanOrEqual(2_000);
  expect(endedAtMs - cancelledAtMs).toBeLessThanOrEqual(2_000);
}

function usd(amount: string) {
  return { amount, currency: 'USD' };
}
