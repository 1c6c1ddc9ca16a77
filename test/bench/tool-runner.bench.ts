/**
 * What the tool-runner adds to a call of a local HTTP tool: from act work being published to its observation in the log, beside the
 * same request made directly. Goal: at most 3 ms more at the median. Reports only; asserts nothing about time.
 */
import { randomUUID } from 'node:crypto';
import { connectBus, createDefinitions, followFacts, publishWork } from '@pawl/bus';
import { fingerprint, fingerprintJson, toolSchema, type ActWork, type Definition } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { request } from 'undici';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { median, printTable, quantile } from './report.ts';

const warmUps = 50;
const samples = 300;
const app = 'demo';

const [nats, postgres, tools] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
const pawl = await startProcesses({ servers: { natsUrl: nats.url, databaseUrl: postgres.url }, models: {} });
const bus = await connectBus({ url: nats.url, name: 'bench' });
const observed = new Map<string, () => void>();
const following = followFacts(bus, {
  filter: 'pawl.run.*.*.*.observed.>',
  onFact: ({ fact }) => observed.get(fact.runId)?.(),
});
try {
  const url = `${tools.url}/wait/0`;
  const work = await workFor(url);
  const durations: { direct: number[]; runner: number[] } = { direct: [], runner: [] };
  for (let sample = 0; sample < warmUps + samples; sample += 1) {
    const directMs = await timed(async () => void (await (await request(url)).body.text()));
    const runnerMs = await timed(() => observe({ ...work, runId: `run_${randomUUID().replaceAll('-', '')}` }));
    if (sample < warmUps) continue;
    durations.direct.push(directMs);
    durations.runner.push(runnerMs);
  }
  const added = median(durations.runner) - median(durations.direct);
  printTable(`A local HTTP tool, ${samples} calls`, [
    ['', 'p50', 'p99'],
    ['called directly', ...shown(durations.direct)],
    ['as act work, until its observation', ...shown(durations.runner)],
    ['added', `${added.toFixed(2)} ms`, 'goal: 3.00 ms at the median'],
  ]);
} finally {
  await following.stop();
  await bus.close();
  await pawl.stop();
  await tools.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}

function shown(values: number[]): string[] {
  return [median(values), quantile(values, 0.99)].map((value) => `${value.toFixed(2)} ms`);
}

async function timed(body: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await body();
  return performance.now() - startedAt;
}

async function observe(work: ActWork): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  observed.set(work.runId, resolve);
  await publishWork(bus, work, newTraceContext());
  await promise;
  observed.delete(work.runId);
}

async function workFor(url: string): Promise<ActWork> {
  const base = { apiVersion: 'pawl.dev/v1' } as const;
  const tool = toolSchema.parse({
    ...base,
    kind: 'Tool',
    metadata: { app, name: 'quick' },
    spec: { description: 'Quick.', http: { method: 'GET', url } },
  });
  const agent = {
    ...base,
    kind: 'Agent',
    metadata: { app, name: 'bench' },
    spec: { instructions: 'B.', models: { think: 'smart' } },
  } as const;
  const definition: Definition = {
    v: 1,
    agent: { revision: fingerprint(agent), object: agent },
    tools: [{ revision: fingerprint(tool), object: tool }],
  };
  return {
    v: 1,
    kind: 'act',
    runId: '',
    app,
    m: 0,
    i: 0,
    step: 1,
    callId: 'call_0_0',
    pool: 'default',
    tool: 'quick',
    toolRevision: fingerprint(tool),
    definition: await createDefinitions(bus).put(definition),
    args: '{}',
    argsHash: fingerprintJson('{}'),
    maxChars: 2_000,
    deadlineAt: new Date(Date.now() + 600_000).toISOString(),
  };
}
