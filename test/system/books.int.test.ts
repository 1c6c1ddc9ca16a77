/** M9: calls that the loop makes for itself are in the books like all others, and the books agree with the provider's own meter. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectDatabase, type Database } from '@pawl/db';
import type { Conversation, SimReply } from '@pawl/sim';
import { useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;
let database: Database;

/** Looks on and on; a conversation without tools is a call of the loop's own. */
function respond({ tools: offered, turn }: Conversation): SimReply {
  if (offered.length === 0) return { answer: 'Best so far.' };
  return { say: `Looking, time ${turn}.`, calls: [{ tool: 'look', args: { turn } }] };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  await stack.api.putTool('look', { http: { method: 'POST', url: `${tools.url}/done` } });
  const often = { reflection: { every: 2 }, compression: { every: 2, tokens: 100 } };
  await stack.api.putAgent('clerk', { tools: ['look'], ...often });
});
afterAll(async () => {
  await database?.close();
  await stack?.stop();
  await tools?.stop();
});

it('M9: reflection, compression and closing calls have their lines, with the tokens of the provider', async () => {
  const limits = { steps: 6, toolCalls: 20, tokens: 900_000 };
  const { body: run } = await stack.api.run({ agent: 'clerk', input: 'Look.', limits }, 60);
  expect(run).toMatchObject({ status: 'paused', stopReason: 'max_steps', answer: 'Best so far.' });
  const lines = await database.query<{ purpose: string; input: number; output: number }>(
    `select purpose, input_tokens::integer as input, output_tokens::integer as output from gateway.ledger where run_id = $1`,
    [run.id],
  );
  const purposes = new Set(lines.map(({ purpose }) => purpose));
  expect(purposes).toEqual(new Set(['think', 'reflect', 'summarize', 'conclude']));
  const metered = stack.sim.requests.map(({ usage }) => [usage.promptTokens, usage.completionTokens]);
  const inOrder = (pairs: number[][]) => pairs.map(String).toSorted();
  expect(inOrder(lines.map(({ input, output }) => [input, output]))).toEqual(inOrder(metered));
  const [sum] = await database.query<{ cost: string }>(
    'select sum(cost_nano_usd)::text as cost from gateway.ledger where run_id = $1',
    [run.id],
  );
  expect(run.cost.nanoUsd).toBe(sum?.cost);
});
