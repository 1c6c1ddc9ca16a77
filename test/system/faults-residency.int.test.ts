/** Data that may not leave its region stops a run rather than leave it (I14), and the run still answers where it may. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Conversation, SimReply } from '@pawl/sim';
import { useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;

const respond =
  (model: string) =>
  ({ turn, tools: offered }: Conversation): SimReply => {
    if (offered.length === 0) return { answer: `Closed by ${model}.` };
    if (turn === 0) return { say: `Looking, says ${model}.`, calls: [{ tool: 'look', args: {} }] };
    return { answer: `Done by ${model}.` };
  };

beforeAll(async () => {
  tools = await startToolServer();
  const models = { world: { respond: respond('world') }, home: { respond: respond('home') } };
  stack = await startStack({ servers, models });
  await stack.api.putTool('look', {
    http: { method: 'POST', url: `${tools.url}/done` },
    returns: { dataClass: 'personal' },
  });
  await putRoute('world', 'world', ['public']);
  await putRoute('home', 'home', ['public', 'personal']);
  await stack.api.putAgent('split', { tools: ['look'], models: { think: 'world', conclude: 'home' } });
  await stack.api.putAgent('abroad', { tools: ['look'], models: { think: 'world' } });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

async function putRoute(name: string, model: string, dataClasses: string[]): Promise<void> {
  const url = `${stack.urls.llmGateway}/v1/routes/smart`;
  const { body } = await stack.api.send<{ spec: { candidates: { baseUrl: string }[] } }>('GET', url);
  await stack.api.putRoute(name, { model, baseUrl: body.spec.candidates[0]?.baseUrl ?? '', dataClasses });
}

const askedOf = (model: string) => stack.sim.requests.filter((request) => request.model === model).length;

it('closes on a route that may have the data', async () => {
  const before = askedOf('world');
  const { body: run } = await stack.api.run({ agent: 'split', input: 'go' });
  expect(run).toMatchObject({ status: 'paused', stopReason: 'residency_blocked', answer: 'Closed by home.' });
  expect(askedOf('world')).toBe(before + 1);
});

it('gives the best answer so far where there is none, and goes on when there is one', async () => {
  const before = askedOf('world');
  const { body: run } = await stack.api.run({ agent: 'abroad', input: 'go' });
  expect(run).toMatchObject({ status: 'paused', stopReason: 'residency_blocked', answer: 'Looking, says world.' });
  expect(askedOf('world')).toBe(before + 1);
  await putRoute('world', 'home', ['public', 'personal']);
  await stack.api.resume(run.id);
  expect(await stack.api.getRunWhen(run.id, 'ended', 'paused')).toMatchObject({ answer: 'Done by home.' });
});
