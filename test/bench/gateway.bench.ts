/**
 * What the gateway adds to a model call, beside @portkey-ai/gateway with the same upstream in the same run: latency at
 * concurrency 1 and 50, requests per second, processor time per request of the gateway's own process. Pawl has a budget, the
 * ledger and tracing on; the other forwards. Reports only; asserts nothing about time.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startChild, type Child } from '@pawl/devstack';
import { eventually, installPeers, startTestNats, startTestPostgres } from '@pawl/testkit';
import { Agent, request } from 'undici';
import { printTable, quantile } from './report.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const clockTicksPerS = 100;
const rounds = 4;
const requestsAt = { 1: 250, 50: 1_500 } as const;
const adminKey = 'bench-admin-key';

type Target = { name: string; url: string; headers: Record<string, string>; child?: Child };
type Measured = { latenciesMs: number[]; seconds: number; cpuMs: number };

const pool = new Agent({ connections: 64, keepAliveTimeout: 60_000 });
const [nats, postgres] = await Promise.all([startTestNats(), startTestPostgres()]);
const collector = createServer((_request, response) => response.writeHead(200).end());
collector.listen(0, '127.0.0.1');
await once(collector, 'listening');

const upstreamPort = await freePort(0);
const upstreamUrl = `http://127.0.0.1:${upstreamPort}/v1`;
const upstream = start('upstream', [join(root, 'test/bench/upstream.ts'), String(upstreamPort)], {});
const targets: Target[] = [
  { name: 'upstream itself', url: upstreamUrl, headers: {} },
  await startPawl(),
  await startPortkey(),
];
try {
  for (const target of targets) await waitUntilItAnswers(target);
  for (const target of targets) await measure(target, { concurrency: 20, requests: 400 });
  for (const concurrency of [1, 50] as const) printTable(`${concurrency} at once`, await compare(concurrency));
} finally {
  await Promise.all([upstream, ...targets.map(({ child }) => child)].map(async (child) => await child?.stop()));
  await pool.close();
  collector.close();
  await Promise.all([nats.stop(), postgres.stop()]);
}

async function compare(concurrency: 1 | 50): Promise<string[][]> {
  const all = new Map<string, Measured>();
  for (let round = 0; round < rounds; round += 1) {
    for (const target of targets) {
      const one = await measure(target, { concurrency, requests: requestsAt[concurrency] });
      const { latenciesMs, seconds, cpuMs } = all.get(target.name) ?? { latenciesMs: [], seconds: 0, cpuMs: 0 };
      all.set(target.name, {
        latenciesMs: [...latenciesMs, ...one.latenciesMs],
        seconds: seconds + one.seconds,
        cpuMs: cpuMs + one.cpuMs,
      });
    }
  }
  const base = all.get('upstream itself')?.latenciesMs ?? [];
  const rows = [...all].map(([name, { latenciesMs, seconds, cpuMs }]) => [
    name,
    ...[0.5, 0.99].map((share) => (quantile(latenciesMs, share) - quantile(base, share)).toFixed(2)),
    (latenciesMs.length / seconds).toFixed(0),
    cpuMs === 0 ? '-' : (cpuMs / latenciesMs.length).toFixed(2),
  ]);
  return [['', 'added p50 ms', 'added p99 ms', 'requests/s', 'own CPU ms/request'], ...rows];
}

async function measure(target: Target, of: { concurrency: number; requests: number }): Promise<Measured> {
  const latenciesMs: number[] = [];
  let left = of.requests;
  const cpuBefore = await cpuMsOf(target.child);
  const startedAt = performance.now();
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const sentAt = performance.now();
      await ask(target);
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: of.concurrency }, worker));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { latenciesMs, seconds, cpuMs: (await cpuMsOf(target.child)) - cpuBefore };
}

async function ask({ name, url, headers }: Target): Promise<void> {
  const { statusCode, body } = await request(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none', ...headers },
    body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Why did sales drop?' }] }),
    dispatcher: pool,
  });
  const text = await body.text();
  if (statusCode !== 200 || !text.includes('customer A')) throw new Error(`${name} answered ${statusCode}: ${text}`);
}

/** User and system time of a process and its threads. 0 where there is none, or no /proc. */
async function cpuMsOf(child: Child | undefined): Promise<number> {
  const text = child ? await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => '') : '';
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 1_000) / clockTicksPerS;
}

function start(name: string, args: string[], env: Record<string, string>): Child {
  const logFile = join(tmpdir(), `pawl-bench-${process.pid}-${name}.log`);
  return startChild({
    command: process.execPath,
    args,
    logFile,
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
}

async function startPawl(): Promise<Target> {
  const port = await freePort(0);
  const env = {
    PAWL_NATS_URL: nats.url,
    PAWL_DATABASE_URL: postgres.url,
    PAWL_PORT: String(port),
    PAWL_HOST: '127.0.0.1',
    PAWL_ADMIN_KEY: adminKey,
    PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
    PAWL_LOG_LEVEL: 'error',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  };
  await start('migrate', [join(root, 'services/llm-gateway/src/migrate.ts')], env).exited;
  const child = start('pawl', [join(root, 'services/llm-gateway/src/main.ts')], env);
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(`${url}/healthz/ready`).then(({ ok }) => ok), { withinMs: 60_000 });
  const send = async (call: string, bearer: string, body: object) => {
    const [method = '', path = ''] = call.split(' ');
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${call}: ${response.status}`);
    return (await response.json()) as { key: string };
  };
  const { key } = await send('POST /v1/keys', adminKey, { app: 'demo' });
  await eventually(() =>
    fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(({ ok }) => ok),
  );
  const price = { currency: 'USD', inputPerMillion: '1', outputPerMillion: '1' };
  const candidates = [{ provider: 'bench', model: 'm', baseUrl: upstreamUrl, price }];
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: 'pawl.dev/v1',
    kind,
    metadata: { app: 'demo', name },
    spec,
  });
  await send('PUT /v1/routes/m', key, object('ModelRoute', 'm', { candidates }));
  const limit = { amount: '1000000', currency: 'USD' };
  await send('PUT /v1/budgets/all', key, object('Budget', 'all', { scope: { app: 'demo' }, limit, window: 'day' }));
  return { name: 'Pawl', url: `${url}/v1`, headers: { authorization: `Bearer ${key}` }, child };
}

async function startPortkey(): Promise<Target> {
  const port = await freePort(0);
  const program = join(await installPeers(), '@portkey-ai/gateway/build/start-server.js');
  const child = start('portkey', [program, `--port=${port}`, '--headless'], { NODE_ENV: 'production' });
  const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstreamUrl };
  return { name: '@portkey-ai/gateway', url: `http://127.0.0.1:${port}/v1`, headers, child };
}

async function waitUntilItAnswers(target: Target): Promise<void> {
  await eventually(() => ask(target).then(() => true), { withinMs: 60_000, what: `${target.name} answers` });
}
