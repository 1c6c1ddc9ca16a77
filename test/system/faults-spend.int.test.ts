/** Kinds of faults around money that runs out: the closing call is there whatever a run has said and read (G2, G6, I13). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Conversation, SimReply } from '@pawl/sim';
import { useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let tools: ToolServer;
let stack: Stack;

const words = (characters: number) => 'Ärger über “Zahlen”. '.repeat(Math.ceil(characters / 21)).slice(0, characters);

/** Questions are `<kind> <characters>`. A conversation without tools is the closing call. */
function respond({ question, turn, tools: offered, latest }: Conversation): SimReply {
  const [kind, size = '0'] = question.split(' ');
  if (offered.length === 0) return { answer: 'Best so far.' };
  if (latest === 'Go on.') return { answer: 'Done.' };
  if (kind === 'answer') return { answer: words(Number(size)) };
  const say = kind === 'talk' ? words(Number(size)) : 'Looking.';
  const args = kind === 'arguments' ? { turn, text: words(Number(size)) } : { turn };
  return { say, calls: [{ tool: 'look', args }] };
}

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({ servers, models: { scripted: { respond } } });
  await stack.api.putTool('look', { http: { method: 'POST', url: `${tools.url}/done` } });
  await stack.api.putAgent('clerk', { tools: ['look'], observation: { maxChars: 20_000 } });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

type Step = { kind: string; purpose?: string; status?: string };

async function stepsOf(runId: string): Promise<Step[]> {
  const { body } = await stack.api.events(runId);
  return [...body.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, kind = '', data = '{}']) => ({
    ...(JSON.parse(data) as object),
    kind,
  }));
}

const limits = (amount: string) => ({ steps: 50, toolCalls: 100, tokens: 900_000, spend: { amount, currency: 'USD' } });

describe('R14 the money for the closing call is spent before', () => {
  // `reserve` of think work: `planCall` in the gateway keeps what the closing call costs at the worst out of every hold, and
  // `closingMessages` shortens the conversation to what is left.
  it.each([
    ['talk 8000', '0.03'],
    ['talk 8000', '0.05'],
    ['talk 300', '0.02'],
    ['arguments 9000', '0.05'],
    ['arguments 400', '0.03'],
    ['look 0', '0.015'],
  ])('%s with %s USD: stops on money, with its closing answer, and goes on with more', async (input, amount) => {
    const { body: run } = await stack.api.run({ agent: 'clerk', input, limits: limits(amount) }, 60);
    expect(run).toMatchObject({ status: 'paused', stopReason: 'max_spend', answer: 'Best so far.', partial: true });
    expect(Number(run.cost.amount)).toBeLessThanOrEqual(Number(amount));
    await stack.api.signal(run.id, { text: 'Go on.' });
    await stack.api.resume(run.id, { spend: { amount: '2.00', currency: 'USD' } });
    const ended = await stack.api.getRunWhen(run.id, 'ended', 'paused');
    expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Done.' });
    const closings = (await stepsOf(run.id)).filter(
      ({ kind, purpose }) => kind === 'thought' && purpose === 'conclude',
    );
    expect(closings.at(-1)).toMatchObject({ outcome: 'reply' });
    expect(closings.length).toBeLessThanOrEqual(2);
  });

  it('takes an answer that the money has cut for no final answer', async () => {
    const { body: run } = await stack.api.run({ agent: 'clerk', input: 'answer 16000', limits: limits('0.018') }, 60);
    expect(run).toMatchObject({ status: 'paused', stopReason: 'max_spend', answer: 'Best so far.', partial: true });
  });
});
