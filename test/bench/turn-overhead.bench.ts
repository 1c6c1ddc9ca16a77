/**
 * What a durable turn costs beside the same turn in memory: 5 turns with 3 parallel HTTP tools each, model and tools at
 * 20 ms. The bare loop makes the same HTTP calls to the same servers, streaming ones to the model, alternating with Pawl's runs.
 * A turn is the time from one request at the model to the next. What a run costs once, its start and its end, is told apart.
 * Goal: at most 6 ms more per turn at the median, once the services are warm. Reports only; asserts nothing about time.
 */
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { runBareLoop } from './agent-loop.ts';
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
  const endpoints = { modelUrl: pawl.modelUrl, toolUrl: `${tools.url}/wait/20` };

  const bare: Timing[] = [];
  const durable: Timing[] = [];
  for (let sample = 0; sample < warmUps + samples; sample += 1) {
    const ofBare = await timed(() => runBareLoop(endpoints));
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
