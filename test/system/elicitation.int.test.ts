/** A real MCP server that asks a person in the middle of a call: the run asks its user, and the answer goes back to the server. */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';

const servers = useTestServers();
const tool = 'trigger-elicitation-request';
const question = 'Please provide inputs for the following fields:';
const home = (createRequire(import.meta.url).resolve.paths('x') ?? [])
  .map((folder) => join(folder, '@modelcontextprotocol/server-everything'))
  .find((folder) => isThere(join(folder, 'package.json')));
let pawl: Stack;

function isThere(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}

beforeAll(async () => {
  pawl = await startStack({
    servers,
    environment: { PAWL_MCP_COMMANDS: '*', PATH: dirname(process.execPath) },
    models: {
      // Calls the tool, asks what the tool wants to know, calls it again, and tells what came of it.
      asking: {
        respond: ({ turn, observations }) => {
          if (turn === 0 || turn === 2) return { calls: [{ tool: 'sign_up', args: {} }] };
          if (turn === 1) return { calls: [{ tool: 'ask_user', args: { question } }] };
          return { answer: `It said: ${JSON.stringify(observations.at(-1))}` };
        },
      },
    },
  });
  const answer = await pawl.api.send('PUT', `${pawl.urls.toolRunner}/v1/mcp-servers/everything`, {
    body: {
      apiVersion: 'pawl.dev/v1',
      kind: 'McpServer',
      metadata: { app: 'demo', name: 'everything' },
      spec: { command: process.execPath, args: [join(home ?? '', 'dist/index.js'), 'stdio'] },
    },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  await pawl.api.putTool('sign_up', { mcp: { server: 'everything', tool }, effect: 'write' });
  await pawl.api.putTool('ask_user', {
    builtin: { name: 'ask_user' },
    parameters: { type: 'object', properties: { question: { type: 'string' } } },
  });
  await pawl.api.putAgent('clerk', { tools: ['sign_up', 'ask_user'] });
});
afterAll(() => pawl.stop());

async function waitingRun(): Promise<string> {
  const started = await pawl.api.startRun({ agent: 'clerk', input: 'Sign me up.' });
  await pawl.api.getRunWhen(started.body.id, 'waiting');
  return started.body.id;
}

/** The log of a run that has ended. */
async function eventsOf(id: string): Promise<string> {
  const { body } = await pawl.api.events(id);
  return body;
}

describe('a server that asks a person', { timeout: 60_000 }, () => {
  it('gets the answer of the person, as a form, and nothing before', async () => {
    const id = await waitingRun();
    await pawl.api.signal(id, { data: { name: 'Ada Lovelace', check: true, integer: 7 } });
    const { body: run } = await pawl.api.getRun(id, 30);
    expect(run.stopReason).toBe('final_answer');
    expect(run.answer).toContain('Ada Lovelace');
    expect(run.answer).toContain('7');
    const log = await eventsOf(id);
    expect(log.indexOf('nobody has answered yet')).toBeGreaterThan(0);
    expect(log.indexOf('Ada Lovelace')).toBeGreaterThan(log.indexOf('nobody has answered yet'));
  });

  it('gets no answer that does not fit its form', async () => {
    const id = await waitingRun();
    await pawl.api.signal(id, { data: { name: 'Ada', integer: 700 } });
    const { body: run } = await pawl.api.getRun(id, 30);
    expect(run.answer).toContain('/integer');
  });

  it('gets nothing when the run is cancelled while it waits', async () => {
    const id = await waitingRun();
    await pawl.api.cancel(id);
    const { body: run } = await pawl.api.getRun(id, 30);
    expect(run.stopReason).toBe('cancelled');
    expect(await eventsOf(id)).not.toContain('Ada');
  });
});
