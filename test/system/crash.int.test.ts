/** kill -9 of any one service in mid-run, then a restart: the run ends with its answer, every observation once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { serviceNames, startProcesses, type Processes } from './processes.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
const rounds = 4;
let tools: ToolServer;
let pawl: Processes;

beforeAll(async () => {
  tools = await startToolServer();
  pawl = await startProcesses({
    servers,
    models: {
      scripted: {
        delayMs: 50,
        respond: ({ question, turn }) =>
          turn < rounds
            ? {
                say: `Round ${turn}.`,
                calls: [0, 1].map((n) => ({ tool: 'slow', args: { q: `${question} ${turn} ${n}` } })),
              }
            : { answer: 'Done.' },
      },
    },
  });
  await pawl.api.putTool('slow', {
    parameters: { type: 'object', properties: { q: { type: 'string' } } },
    http: { method: 'GET', url: `${tools.url}/wait/150` },
  });
  await pawl.api.putAgent('analyst', { tools: ['slow'] });
});
afterAll(async () => {
  await pawl.stop();
  await tools.stop();
});

describe.each(serviceNames)('kill -9 of %s in mid-run', (name) => {
  it('delays the run and loses nothing', { timeout: 90_000 }, async () => {
    const question = `with ${name} dying`;
    const started = await pawl.api.startRun({ agent: 'analyst', input: question });
    const { id } = started.body;
    await eventually(() => tools.calls.some(({ query }) => String(query['q']).startsWith(`${question} 1`)));
    await pawl.kill(name);
    await pawl.start(name);
    const { body: run } = await pawl.api.getRun(id, 60);
    expect(run).toMatchObject({
      stopReason: 'final_answer',
      answer: 'Done.',
      steps: rounds + 1,
      toolCalls: rounds * 2,
    });
    const slots = await eventually(
      async () => {
        const { body } = await pawl.api.getTrace(id);
        const observed = (body.records ?? []).filter((record) => record['kind'] === 'observed');
        return observed.length >= rounds * 2 && observed.map((record) => record['slot']);
      },
      { withinMs: 60_000, what: 'every observation is stored' },
    );
    expect(new Set(slots).size).toBe(rounds * 2);
  });
});
