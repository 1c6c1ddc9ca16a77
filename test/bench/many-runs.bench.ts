/**
 * How many turns all services do together on this machine: many runs at once, each of 5 turns with 3 parallel HTTP tools, model
 * and tools at 20 ms. Says for each process what a turn costs of the processor. Reports only; asserts nothing about time.
 * Sizes by environment: PAWL_BENCH_AT_ONCE, PAWL_BENCH_RUNS.
 */
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { processorSecondsByName } from './processor-time.ts';
import { printTable, quantile } from './report.ts';

const turns = 5;
const atOnce = Number(process.env['PAWL_BENCH_AT_ONCE'] ?? 50);
const runs = Number(process.env['PAWL_BENCH_RUNS'] ?? 500);
const warmUps = 2 * atOnce;

const [nats, postgres, tools] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
const pawl = await startProcesses({
  servers: { natsUrl: nats.url, databaseUrl: postgres.url },
  models: {
    scripted: {
      delayMs: 20,
      respond({ turn }) {
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
  await runMany(warmUps);
  const usedBefore = await processorSecondsByName();
  const startedAtMs = performance.now();
  const latencies = await runMany(runs);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const used = await processorSecondsByName();
  const allTurns = runs * (turns + 1);
  const perTurn = Object.entries(used)
    .map(([name, s]) => ({ name, ms: ((s - (usedBefore[name] ?? 0)) * 1_000) / allTurns }))
    .toSorted((left, right) => right.ms - left.ms);
  printTable(`${runs} runs, ${atOnce} at once`, [
    ['turns a second', (allTurns / seconds).toFixed(0)],
    ...[0.5, 0.99].map((share) => [`a run, p${share * 100}`, `${quantile(latencies, share).toFixed(0)} ms`]),
    ...perTurn.map(({ name, ms }) => [`processor time of a turn, ${name}`, `${ms.toFixed(2)} ms`]),
  ]);
} finally {
  await pawl.stop();
  await tools.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}

/** How long each took, in ms. */
async function runMany(count: number): Promise<number[]> {
  const latencies: number[] = [];
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const startedAtMs = performance.now();
      const { body } = await pawl.api.run({ agent: 'analyst', input: 'Go.' });
      if (body.stopReason !== 'final_answer') throw new Error(`the run ended with ${body.stopReason}: ${body.detail}`);
      latencies.push(performance.now() - startedAtMs);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return latencies;
}
