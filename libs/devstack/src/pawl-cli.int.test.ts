/**
 * The command line `pawl` on the whole stack: it stops where people have to say something, and the very commands that it
 * prints take the run on.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Agent, RunView } from '@pawl/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { DEFAULT_EXAMPLE, loadExample, type Example } from './example/load-example.ts';
import { freePort } from './free-port.ts';
import { removeCluster } from './postgres/cluster-place.ts';
import { createStack, type Stack } from './stack.ts';
import { stateFolder, type StateFolder } from './state/state-folder.ts';

const TEST_TIMEOUT_MS = 120_000;

let folder: StateFolder;
let example: Example;
let stack: ReturnType<typeof createStack>;
let started: Stack;

beforeAll(async () => {
  folder = stateFolder(mkdtempSync(join(tmpdir(), 'pawl-cli-stack-')));
  example = await loadExample(folder.root, DEFAULT_EXAMPLE);
  const { PATH, HOME } = readConfig().environment;
  stack = createStack({
    folder,
    config: readConfig({ PATH, HOME }),
    example,
    port: await freePort(),
    command: 'npm run dev',
    progress: () => undefined,
    say: () => undefined,
  });
  started = await stack.start();
}, TEST_TIMEOUT_MS);
afterAll(async () => {
  await stack.stop();
  await removeCluster(folder.postgres);
  rmSync(dirname(folder.postgres), { recursive: true, force: true });
});

interface Result {
  code: number;
  out: string;
  err: string;
}

/** Runs the command line as a user does; `line` may begin with `pawl`, as it is printed. */
function pawl(...args: string[]): Promise<Result> {
  const env = { ...readConfig().environment, PAWL_URL: started.devFile.url, PAWL_KEY: started.appKey };
  const words = args[0] === 'pawl' ? args.slice(1) : args;
  return new Promise((resolve) => {
    execFile(join(folder.root, 'node_modules/.bin/pawl'), words, { env, timeout: 60_000 }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
    });
  });
}

/** Declares the example's agent under another name, changed. */
async function apply(name: string, spec: Partial<Agent['spec']>): Promise<void> {
  const agent = example.objects.find(({ kind }) => kind === 'Agent') as Agent;
  const file = join(dirname(folder.postgres), `${name}.json`);
  const changed = { ...agent, metadata: { ...agent.metadata, name }, spec: { ...agent.spec, ...spec } };
  writeFileSync(file, JSON.stringify(changed));
  expect(await pawl('apply', '-f', file)).toMatchObject({ code: 0 });
}

/** The words of the command below `next` that begins so. */
function printed(out: string, command: string): string[] {
  const line = out.split('\n').find((each) => each.trim().startsWith(`pawl ${command} `));
  expect(line, out).toBeDefined();
  return (line ?? '').trim().split(' ');
}

async function runOf(id: string): Promise<RunView> {
  return JSON.parse((await pawl('get', id, '--wait', '60', '--json')).out) as RunView;
}

test(
  'a run waits for approval; the command that is printed approves the call',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    await apply('careful', { approvals: [{ tool: 'query_metric' }] });
    const followed = await pawl('run', 'careful', example.question, '--follow');
    expect(followed, followed.err).toMatchObject({ code: 4 });
    const command = printed(followed.out, 'approve');
    const id = command[2] ?? '';
    const shown = await pawl('get', id);
    expect(shown.out).toMatch(/phase waiting[^]*a decision on query_metric[^]*hash +[0-9a-f]{64}/);
    expect((await pawl('pending')).out).toContain(id);
    const approved = await pawl(...command);
    expect(approved, approved.err).toMatchObject({ code: 0 });
    expect(await runOf(id)).toMatchObject({ stopReason: 'final_answer', pending: [] });
    expect((await pawl('pending')).out).toBe('Nothing waits for people.\n');
    expect(await pawl(...command)).toMatchObject({ code: 2 });
  },
);

test('a call is approved with other arguments', { timeout: TEST_TIMEOUT_MS }, async () => {
  await apply('corrected', { approvals: [{ tool: 'query_metric' }] });
  const { out } = await pawl('run', 'corrected', example.question, '--wait', '60');
  const [, , id = '', callId = ''] = printed(out, 'approve');
  const args = '{"metric":"revenue","from":"2025-02"}';
  const approved = await pawl('approve', id, callId, '--edit', args);
  expect(approved, approved.err).toMatchObject({ code: 0 });
  expect(approved.out).toContain(`query_metric ${args}`);
  expect(await runOf(id)).toMatchObject({ stopReason: 'final_answer' });
});

test('a denied call: the run is told and goes on', { timeout: TEST_TIMEOUT_MS }, async () => {
  await apply('strict', { approvals: [{ tool: 'query_metric' }] });
  const { out } = await pawl('run', 'strict', example.question, '--wait', '60');
  const [, , id = '', callId = ''] = printed(out, 'deny');
  const denied = await pawl('deny', id, callId, '--reason', 'use SQL');
  expect(denied, denied.err).toMatchObject({ code: 0 });
  // It may ask for another call of the tool later; this one is settled.
  const run = await runOf(id);
  expect(run.steps).toBeGreaterThan(1);
  expect(run.pending.map((call) => call.callId)).not.toContain(callId);
});

test(
  'a run pauses at a limit; the command that is printed resumes it; a fork goes its own way',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    await apply('hasty', { limits: { steps: 1 } });
    const followed = await pawl('run', 'hasty', example.question, '--follow');
    expect(followed, followed.err).toMatchObject({ code: 4 });
    expect(followed.out).toContain('paused    max_steps');
    const command = printed(followed.out, 'resume');
    const id = command[2] ?? '';
    expect(await pawl('signal', id, 'Be brief.')).toMatchObject({ code: 0 });
    const resumed = await pawl(...command, '--wall-clock', '100s', '--spend', '1.00');
    expect(resumed, resumed.err).toMatchObject({ code: 0 });
    expect(await runOf(id)).toMatchObject({ stopReason: 'final_answer' });
    const forked = await pawl('fork', id, '--from-step', '1', '--model', 'think=smart', '--json');
    expect(forked, forked.err).toMatchObject({ code: 0 });
    const fork = JSON.parse(forked.out) as RunView;
    expect(fork.forkOf).toEqual({ runId: id, fromStep: 1 });
    expect((await runOf(fork.id)).status).not.toBe('running');
  },
);

test('a tool is tried, and spending is reported', async () => {
  const called = await pawl('tool', 'call', 'query_metric', '--args', '{"metric":"revenue"}');
  expect(called, called.err).toMatchObject({ code: 0 });
  expect(called.out).toMatch(/^ok\n[^]*2026-02/);
  const spend = await pawl('spend', '--by', 'agent,day');
  expect(spend.code).toBe(0);
  expect(spend.out).toMatch(/^AGENT +DAY +CALLS[^]*USD from/);
});
