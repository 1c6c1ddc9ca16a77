/**
 * Three tool calls of 300 ms in one thought, beside one: from the moment the calls are written down to the last observation.
 * Goal: 400 ms at the most, and 1.2 times one call. Reports only; asserts nothing about time.
 */
import type { Acted, Observed } from '@pawl/contracts';
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { median, printTable } from './report.ts';

const samples = 10;

const [nats, postgres, tools] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
const pawl = await startProcesses({
  servers: { natsUrl: nats.url, databaseUrl: postgres.url },
  models: {
    scripted: {
      respond: ({ question, turn }) =>
        turn === 0
          ? { calls: Array.from({ length: Number(question) }, (_, q) => ({ tool: 'slow', args: { q: String(q) } })) }
          : { answer: 'Done.' },
    },
  },
});
try {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } };
  await pawl.api.putTool('slow', { parameters, http: { method: 'GET', url: `${tools.url}/wait/300` } });
  await pawl.api.putAgent('analyst', { tools: ['slow'] });
  const one: number[] = [];
  const three: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    one.push(await roundMs('1'));
    three.push(await roundMs('3'));
  }
  printTable('A round of calls of 300 ms each, median of 10', [
    ['one call', `${median(one).toFixed(0)} ms`, '1.00'],
    ['three calls', `${median(three).toFixed(0)} ms`, (median(three) / median(one)).toFixed(2)],
  ]);
} finally {
  await pawl.stop();
  await tools.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}

/** From `acted` to the last `observed`, by the times in the facts. */
async function roundMs(calls: string): Promise<number> {
  const { body: run } = await pawl.api.run({ agent: 'analyst', input: calls });
  const { body: text } = await pawl.api.events(run.id);
  const facts = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as { kind: string });
  const acted = facts.find((fact): fact is Acted => fact.kind === 'acted');
  const observed = facts.filter((fact): fact is Observed => fact.kind === 'observed');
  return Math.max(...observed.map(({ at }) => Date.parse(at))) - Date.parse(acted?.at ?? '');
}
