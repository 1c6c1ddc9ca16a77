/**
 * What a durable turn costs beside the same turn in memory: 5 turns with 3 parallel HTTP tools each, model and tools at
 * 20 ms. The bare loop makes the same HTTP calls to the same servers, streaming ones to the model, alternating with Pawl's runs.
 * A turn is the time from one request at the model to the next. What a run costs once, its start and its end, is told apart.
 * Goal: at most 6 ms more per turn at the median, once the services are warm. Reports only; asserts nothing about time.
 */
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { median, printTable } from './report.ts';

const turns = 5;
const warmUps = 60;
const samples = 40;

/** When the requests of the run that is being timed reached the model. */
let asked: number[] = [];

const [nats, postgres, tools] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
const pawl = await startProcesses({
  servers: { natsUrl: nats.url, databaseUrl: postgres.url },
  models: {
    scripted: {
      delayMs: 20,
      respond({ turn }) {
        asked.push(performance.now());
        if (turn >= turns) return { answer: 'The answer.' };
        const calls = ['a', 'b', 'c'].map((q) => ({ tool: 'quick', args: { q: `${q}${turn}` } }));
        return { say: `Round ${turn}.`, calls };
      },
    },
  },
});
try {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } };
  await pawl.api.putTool('quick', { parameters, http: { method: 'GET', url: `${tools.url}/wait/20` } });
  await pawl.api.putAgent('analyst', { tools: ['quick'] });
  const modelUrl = await modelUrlOf(pawl.api);

  const bare: Timing[] = [];
  const durable: Timing[] = [];
  for (let sample = 0; sample < warmUps + samples; sample += 1) {
    const ofBare = await timed(() => bareLoop(modelUrl));
    const ofPawl = await timed(async () => {
      const { body } = await pawl.api.run({ agent: 'analyst', input: 'Go.' });
      if (body.stopReason !== 'final_answer') throw new Error(`the run ended with ${body.stopReason}: ${body.detail}`);
    });
    if (sample < warmUps) continue;
    bare.push(ofBare);
    durable.push(ofPawl);
  }
  const turn = { bare: median(bare.flatMap(gaps)), pawl: median(durable.flatMap(gaps)) };
  const once = { bare: median(bare.map(aroundTurns)), pawl: median(durable.map(aroundTurns)) };
  const more = (of: typeof turn) => `${(of.pawl - of.bare).toFixed(2)} ms`;
  printTable(`A turn with 3 parallel tools, median of ${samples * turns}`, [
    ['bare loop', `${turn.bare.toFixed(2)} ms`, '1.00'],
    ['Pawl', `${turn.pawl.toFixed(2)} ms`, (turn.pawl / turn.bare).toFixed(2)],
    ['overhead of a turn', more(turn), 'goal: 6.00 ms'],
    ['and once a run, for its start and end', more(once), ''],
  ]);
} finally {
  await pawl.stop();
  await tools.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}

type Timing = { totalMs: number; gaps: number[] };

async function timed(body: () => Promise<unknown>): Promise<Timing> {
  asked = [];
  const startedAtMs = performance.now();
  await body();
  const totalMs = performance.now() - startedAtMs;
  return { totalMs, gaps: asked.slice(1).map((atMs, index) => atMs - (asked[index] ?? atMs)) };
}

function gaps(timing: Timing): number[] {
  return timing.gaps;
}

/** Before the first request at the model, and from the last one on. */
function aroundTurns(timing: Timing): number {
  return timing.totalMs - timing.gaps.reduce((sum, gap) => sum + gap, 0);
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
