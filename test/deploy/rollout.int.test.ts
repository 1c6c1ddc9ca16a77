/**
 * K10: every service is replaced while clients use it, as a Deployment does it behind a Service: the new replica starts, the
 * old one gets SIGTERM. No request fails, no stream is cut, no run is lost.
 */
import { eventually, hasTimeForPeers, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApi, type Api } from '../system/api.ts';
import { serviceNames, startProcesses, type Processes, type ServiceName } from '../system/processes.ts';
import { startToolServer, type ToolServer } from '../system/tool-server.ts';
import { startBalancer, type Balancer } from './rollout-balancer.ts';

const servers = useTestServers();
/** The longest stream that begins just before a replica is told to stop. */
const streamMs = hasTimeForPeers() ? 60_000 : 5_000;
/** It serves on for longer than that. */
const drainMs = streamMs + 5_000;
const pauseMs = 100;
const words = 50;

let tools: ToolServer;
let pawl: Processes;
let balancers: Record<ServiceName, Balancer>;
let api: Api;

beforeAll(async () => {
  tools = await startToolServer();
  const made = await Promise.all(serviceNames.map(async (name) => [name, await startBalancer()] as const));
  balancers = Object.fromEntries(made) as Record<ServiceName, Balancer>;
  pawl = await startProcesses({
    servers,
    models: {
      scripted: {
        delayMs: 100,
        respond: ({ question, turn }) =>
          turn === 0
            ? { say: 'I wait.', calls: [{ tool: question === 'long' ? 'long' : 'short', args: {} }] }
            : { answer: 'It is over.' },
      },
      talker: {
        tokenDelayMs: streamMs / words,
        respond: () => ({ answer: 'on and '.repeat(words / 2) }),
      },
    },
    environment: { PAWL_DRAIN_MS: String(drainMs), PAWL_ORCHESTRATOR_URL: balancers.orchestrator.url },
  });
  for (const name of serviceNames) balancers[name].add(pawl.replica(name).url);
  const urls = {
    orchestrator: balancers.orchestrator.url,
    toolRunner: balancers['tool-runner'].url,
    llmGateway: balancers['llm-gateway'].url,
    traceStore: balancers['trace-store'].url,
  };
  api = createApi({ urls, key: pawl.api.key });
  for (const name of serviceNames) await eventually(() => balancers[name].ready().length === 1);
  const simUrl = (
    await pawl.api.send<{ spec: { candidates: { baseUrl: string }[] } }>('GET', `${urls.llmGateway}/v1/routes/smart`)
  ).body.spec.candidates[0]!.baseUrl;
  await api.putRoute('talk', { model: 'talker', baseUrl: simUrl });
  await api.putTool('short', { http: { method: 'GET', url: `${tools.url}/wait/200` } });
  await api.putTool('long', { http: { method: 'GET', url: `${tools.url}/wait/${streamMs}` }, timeout: '100s' });
  await api.putAgent('waiter', { tools: ['short', 'long'], limits: { wallClock: '170s' } });
}, 180_000);
afterAll(async () => {
  await pawl.stop();
  await tools.stop();
  await Promise.all(Object.values(balancers).map((balancer) => balancer.stop()));
}, 120_000);

/** What clients do, until they are told to stop; what went wrong, and the runs that were accepted. */
function startClients(urls: Record<ServiceName, string>) {
  const failures: string[] = [];
  const runs: string[] = [];
  const counts = { requests: 0, streams: 0 };
  let isOver = false;
  const headers = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' };

  const request = async (url: string, wanted: number, body?: object) => {
    counts.requests += 1;
    const sent = body && { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(url, { headers, ...sent });
    const text = await response.text();
    if (response.status !== wanted) throw new Error(`${response.status} ${text}`);
    return text;
  };
  const note = (what: string) => (error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
    failures.push(`${what}: ${String(error)}${cause}`);
  };
  const repeat = async (what: string, body: () => Promise<unknown>) => {
    while (!isOver) {
      await body().catch(note(what));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const follow = async (question: string) => {
    const started = await request(`${urls.orchestrator}/v1/runs`, 201, { agent: 'waiter', input: question });
    const { id } = JSON.parse(started) as { id: string };
    runs.push(id);
    counts.streams += 1;
    const events = await request(`${urls.orchestrator}/v1/runs/${id}/events`, 200);
    if (!events.includes('event: ended')) throw new Error(`the events of ${id} were cut: ${events.slice(-300)}`);
  };
  const talk = async () => {
    counts.streams += 1;
    const messages = [{ role: 'user', content: 'Go on.' }];
    const text = await request(`${urls['llm-gateway']}/v1/chat/completions`, 200, {
      model: 'talk',
      stream: true,
      messages,
    });
    if (!text.trimEnd().endsWith('data: [DONE]')) throw new Error(`a reply was cut: ${text.slice(-300)}`);
  };
  const ask = { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] };
  const clients = [
    repeat('a run', () => follow('short')),
    repeat('another run', () => follow('short')),
    repeat('the list of runs', () => request(`${urls.orchestrator}/v1/runs`, 200)),
    repeat('a completion', () => request(`${urls['llm-gateway']}/v1/chat/completions`, 200, ask)),
    repeat('the tools', () => request(`${urls['tool-runner']}/v1/tools`, 200)),
    repeat('a call', () => request(`${urls['tool-runner']}/v1/tools/short/call`, 200, { args: {} })),
    repeat('the traces', () => request(`${urls['trace-store']}/v1/traces`, 200)),
  ];
  return {
    failures,
    runs,
    counts,
    /** Streams that are as long as they may be. */
    openLongStreams: () => Promise.all([follow('long').catch(note('a long run')), talk().catch(note('a long reply'))]),
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

test(
  'K10 all services are replaced under load: no failed request, no cut stream, no lost run',
  { timeout: 400_000 },
  async () => {
    const urls = Object.fromEntries(serviceNames.map((name) => [name, balancers[name].url])) as Record<
      ServiceName,
      string
    >;
    const clients = startClients(urls);
    await eventually(() => clients.runs.length > 3, { withinMs: 60_000 });

    const replacements = await Promise.all(serviceNames.map((name) => pawl.startSpare(name)));
    for (const [position, name] of serviceNames.entries()) balancers[name].add(replacements[position]!.url);
    for (const name of serviceNames) await eventually(() => balancers[name].ready().length === 2, { withinMs: 30_000 });

    const longStreams = clients.openLongStreams();
    const before = clients.counts.requests;
    await eventually(() => tools.calls.some(({ path }) => path === `/wait/${streamMs}`), { withinMs: 30_000 });
    const exits = await Promise.all(serviceNames.map((name) => pawl.replica(name).stop()));
    await longStreams;
    await clients.stop();

    expect(clients.failures).toEqual([]);
    expect(exits).toEqual(serviceNames.map(() => ({ code: 0, signal: null })));
    for (const [position, name] of serviceNames.entries()) {
      expect(balancers[name].ready()).toEqual([replacements[position]!.url]);
    }
    expect(clients.counts.requests - before).toBeGreaterThan(50);
    const ended = await Promise.all(clients.runs.map((id) => api.getRunWhen(id, 'ended')));
    expect(ended.filter(({ stopReason, toolCalls }) => stopReason !== 'final_answer' || toolCalls !== 1)).toEqual([]);
    const shorts = tools.calls.filter(({ path }) => path === '/wait/200').length;
    console.info(
      `${clients.counts.requests} requests, ${clients.counts.streams} streams, ${clients.runs.length} runs, ${shorts} short calls`,
    );
  },
);
