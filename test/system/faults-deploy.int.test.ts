/** Kinds of faults around deploying: a run goes on with all that it started with, also with what that in turn refers to (I7). */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Conversation, SimReply } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;

/** The clerk waits, then has its helper and its skill do the rest; the helper looks by itself and tells its instructions. */
function respond({ question, system, turn, tools: offered }: Conversation): SimReply {
  if (question === 'part') {
    if (turn === 0) return { calls: [{ tool: 'look', args: { by: 'helper' } }] };
    return { answer: system.split('\n')[0] ?? '' };
  }
  if (turn === 0) return { calls: [{ tool: 'held', args: {} }] };
  if (turn === 1) return { calls: ['diagnose', 'helper'].map((tool) => ({ tool, args: { input: 'part' } })) };
  return { answer: `Done with ${offered.join(', ')}.` };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  await stack.api.putTool('held', { http: { method: 'POST', url: `${tools.url}/held` } });
  await stack.api.putTool('diagnose', { skill: { steps: [{ name: 'first', tool: 'look', args: { by: '"skill"' } }] } });
  await stack.api.putTool('helper', { agent: { name: 'helper' } });
  await deploy('/done', 'The first helper.');
  await stack.api.putAgent('clerk', { tools: ['held', 'diagnose', 'helper'] });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

async function deploy(path: string, instructions: string): Promise<void> {
  await stack.api.putTool('look', { http: { method: 'POST', url: `${tools.url}${path}` } });
  await stack.api.putAgent('helper', { instructions, tools: ['look'] });
}

it('R18 a deploy breaks running runs: tools of skills and agents behind tools stay what they were', async () => {
  // `pinned` in run/pin.ts takes in what skills and agents name; `childOf` takes the helper from there.
  tools.hold();
  const { body: run } = await stack.api.startRun({ agent: 'clerk', input: 'go' });
  await eventually(() => tools.calls.some(({ path }) => path === '/held'));
  await deploy('/nothing', 'The second helper.');
  tools.release();
  const ended = await stack.api.getRunWhen(run.id, 'ended', 'paused');
  expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Done with held, diagnose, helper.' });
  const made = tools.calls.map(({ path, body }) => `${path} ${String(body['by'])}`);
  expect(made.toSorted()).toEqual(['/done helper', '/done skill', '/held undefined']);
  const { body } = await stack.api.events(run.id);
  expect(body).toContain('The first helper.');
  expect(body).not.toContain('The second helper.');
});
