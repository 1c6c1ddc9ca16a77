/**
 * What a durable turn costs beside the same turn in memory: 5 turns with 3 parallel HTTP tools each, model and tools at
 * 20 ms. The bare loop makes the same HTTP calls to the same servers, streaming ones to the model, alternating with Pawl's runs.
 * Goal: at most 6 ms more per turn at the median. Reports only; asserts nothing about time.
 */
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { median, printTable } from './report.ts';

const turns = 5;
const warmUps = 10;
const samples = 40;

const [nats, postgres, tools] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
const pawl = await startProcesses({
  servers: { natsUrl: nats.url, databaseUrl: postgres.url },
  models: {
    scripted: {
      delayMs: 20,
      respond: ({ turn }) =>
        turn < turns
          ? {
              say: `Round ${turn}.`,
              calls: ['a', 'b', 'c'].map((q) => ({ tool: 'quick', args: { q: `${q}${turn}` } })),
            }
          : { answer: 'The answer.' },
    },
  },
});
try {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } };
  await pawl.api.putTool('quick', { parameters, http: { method: 'GET', url: `${tools.url}/wait/20` } });
  await pawl.api.putAgent('analyst', { tools: ['quick'] });
  const modelUrl = await modelUrlOf(pawl.api);

  const durations: { bare: number[]; pawl: number[] } = { bare: [], pawl: [] };
  for (let sample = 0; sample < warmUps + samples; sample += 1) {
    const bareMs = await timed(() => bareLoop(modelUrl));
    const pawlMs = await timed(async () => {
      const { body } = await pawl.api.run({ agent: 'analyst', input: 'Go.' });
      if (body.stopReason !== 'final_answer') throw new Error(`the run ended with ${body.stopReason}: ${body.detail}`);
    });
    if (sample < warmUps) continue;
    durations.bare.push(bareMs);
    durations.pawl.push(pawlMs);
  }
  const bare = median(durations.bare);
  const durable = median(durations.pawl);
  printTable('A turn with 3 parallel tools, median of 40 runs', [
    ['bare loop', `${(bare / turns).toFixed(2)} ms`, '1.00'],
    ['Pawl', `${(durable / turns).toFixed(2)} ms`, (durable / bare).toFixed(2)],
    ['overhead of a turn', `${((durable - bare) / turns).toFixed(2)} ms`, 'goal: 6.00 ms'],
  ]);
} finally {
  await pawl.stop();
  await tools.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}

async function timed(body: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await body();
  return performance.now() - startedAtMs;
}

async function modelUrlOf(api: typeof pawl.api): Promise<string> {
  const { body } = await api.send<{ spec: { candidates: { baseUrl: string }[] } }>(
    'GET',
    `${pawl.urls.llmGateway}/v1/routes/smart`,
  );
  return `${body.spec.candidates[0]?.baseUrl}/chat/completions`;
}

type Message = { role: string; content: string | null; tool_calls?: ModelCall[]; tool_call_id?: string };
type ModelCall = { id: string; function: { name: string; arguments: string } };

type Delta = {
  content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
};

/** Puts a streamed reply together, as every client of a model does. */
async function messageOf(response: Response): Promise<Message> {
  const message: Message = { role: 'assistant', content: '' };
  const calls: ModelCall[] = [];
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice('data: '.length)) as { choices: { delta: Delta }[] };
    message.content += choices[0]?.delta.content ?? '';
    for (const piece of choices[0]?.delta.tool_calls ?? []) {
      const call = (calls[piece.index] ??= { id: '', function: { name: '', arguments: '' } });
      call.id ||= piece.id ?? '';
      call.function.name += piece.function.name ?? '';
      call.function.arguments += piece.function.arguments ?? '';
    }
  }
  return calls.length > 0 ? { ...message, tool_calls: calls } : message;
}

/** The same loop without durability, budgets or a record. */
async function bareLoop(modelUrl: string): Promise<void> {
  const messages: Message[] = [{ role: 'user', content: 'Go.' }];
  for (;;) {
    const response = await fetch(modelUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'scripted',
        stream: true,
        messages,
        tools: [{ type: 'function', function: { name: 'quick' } }],
      }),
    });
    const message = await messageOf(response);
    if (!message.tool_calls) return;
    messages.push(message);
    const results = message.tool_calls.map(async (call): Promise<Message> => {
      const { q } = JSON.parse(call.function.arguments) as { q: string };
      const result = await fetch(`${tools.url}/wait/20?q=${q}`);
      return {
        role: 'tool',
        tool_call_id: call.id,
        content: JSON.stringify({ status: 'ok', data: await result.json() }),
      };
    });
    messages.push(...(await Promise.all(results)));
  }
}
