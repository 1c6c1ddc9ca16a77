/** R17: one huge item poisons shared parts. Whatever one run brings, the others go on as if nothing were there. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus, readFacts } from '@pawl/bus';
import type { Fact } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const isFull = process.env['PAWL_TEST_FULL'] !== undefined;
const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({
    servers,
    models: {
      scripted: {
        respond: ({ question, turn }) =>
          turn === 0 && question.startsWith('call')
            ? { calls: [{ tool: question.split(' ')[1] ?? '', args: { q: question } }] }
            : { answer: 'Done.' },
      },
    },
  });
  for (const [name, bytes] of Object.entries({ small: 100, large: 2_000_000, huge: 40_000_000 })) {
    await stack.api.putTool(name, { http: { method: 'GET', url: `${tools.url}/big/${bytes}` } });
  }
  await stack.api.putAgent('reader', { tools: ['small', 'large', 'huge'] });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

const run = async (input: string, limits: object = {}) =>
  (await stack.api.run({ agent: 'reader', input, limits }, 60)).body;

async function factsOf(runId: string): Promise<Fact[]> {
  const bus = await connectBus({ url: servers.natsUrl, name: 'measuring' });
  const facts = await readFacts(bus, 'demo', runId);
  await bus.close();
  return facts.map(({ fact }) => fact);
}

/** The largest message that a run has left in the log, in characters. */
async function largestFact(runId: string): Promise<number> {
  return Math.max(...(await factsOf(runId)).map((fact) => JSON.stringify(fact).length));
}

describe('R17 one huge item poisons shared parts', () => {
  // http-answer.ts stops reading at its cap, cut-data.ts cuts what the model sees and keeps the rest beside (`putResult`).
  it('a result of 40 MB: its own call tells where it is kept, runs beside it end as usual', async () => {
    const huge = run('call huge');
    const small = await Promise.all(Array.from({ length: 5 }, (_, n) => run(`call small ${n}`)));
    expect(small.map(({ stopReason }) => stopReason)).toEqual(Array(5).fill('final_answer'));
    const ended = await huge;
    expect(ended).toMatchObject({ stopReason: 'final_answer', toolCalls: 1 });
    const observed = (await factsOf(ended.id)).find((fact) => fact.kind === 'observed');
    expect(observed?.observation).toMatchObject({
      status: 'ok',
      truncated: true,
      ref: `demo/${ended.id}/0/0`,
      message: expect.stringMatching(/It has 4\d{7} bytes\./),
    });
    expect(await largestFact(ended.id)).toBeLessThan(20_000);
  }, 90_000);

  it(`${isFull ? 300 : 15} runs with results of 2 MB: the log stays small`, async () => {
    const runs = await Promise.all(Array.from({ length: isFull ? 300 : 15 }, (_, n) => run(`call large ${n}`)));
    expect(new Set(runs.map(({ stopReason }) => stopReason))).toEqual(new Set(['final_answer']));
    for (const { id } of runs.slice(0, 5)) expect(await largestFact(id)).toBeLessThan(20_000);
  }, 240_000);

  // What does not fit a message goes by claim check (`encodeMessage` in libs/bus).
  it('an input that does not fit a message: the run happens all the same', async () => {
    const limits = { tokens: 100_000_000, spend: { amount: '1000', currency: 'USD' } };
    const ended = await run('€ '.repeat(490_000), limits);
    expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Done.' });
    expect(await run('call small again')).toMatchObject({ stopReason: 'final_answer' });
  }, 90_000);
});
