/**
 * One run of 100 steps with results of 10 KB, the model's summaries included: the time of a late step beside an early one,
 * from one `acted` to the next. Goal: 1.2 at the most. Reports only; asserts nothing about time.
 */
import type { Acted } from '@pawl/contracts';
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { median, printTable } from './report.ts';

const steps = 100;

const [nats, postgres, tools] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
let asked = 0;
const pawl = await startProcesses({
  servers: { natsUrl: nats.url, databaseUrl: postgres.url },
  models: {
    scripted: {
      respond({ tools: offered }) {
        if (offered.length === 0) return { answer: 'So far: nothing unusual.' };
        asked += 1;
        return asked <= steps
          ? { say: `Look ${asked}.`, calls: [{ tool: 'big', args: { q: String(asked) } }] }
          : { answer: 'Done.' };
      },
    },
  },
});
try {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } };
  await pawl.api.putTool('big', { parameters, http: { method: 'GET', url: `${tools.url}/big/10000` } });
  const observation = { maxChars: 12_000 };
  await pawl.api.putAgent('analyst', { tools: ['big'], observation, compression: { every: 5 } });
  const limits = {
    steps: 200,
    toolCalls: 200,
    tokens: 100_000_000,
    wallClock: '600s',
    spend: { amount: '1000', currency: 'USD' },
  };
  const started = await pawl.api.startRun({ agent: 'analyst', input: 'Go.', limits });
  let run = started.body;
  while (run.status === 'running') run = (await pawl.api.getRun(run.id, 30)).body;
  const { body: text } = await pawl.api.events(run.id);
  const times = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as { kind: string })
    .filter((fact): fact is Acted => fact.kind === 'acted')
    .map(({ at }) => Date.parse(at));
  const stepsMs = times.slice(1).map((time, index) => time - (times[index] ?? time));
  const early = median(stepsMs.slice(4, 14));
  const late = median(stepsMs.slice(-10));
  printTable(`A step of a run that ended with ${run.stopReason} after ${run.steps} steps, median of 10`, [
    ['steps 5 to 14', `${early.toFixed(1)} ms`, '1.00'],
    ['steps 90 to 99', `${late.toFixed(1)} ms`, (late / early).toFixed(2)],
  ]);
} finally {
  await pawl.stop();
  await tools.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}
