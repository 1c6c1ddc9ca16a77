/**
 * The same agent loop in Pawl and in other durable engines, side by side in one run: 5 turns, each one streamed model request and 3
 * parallel HTTP tools, model and tools at 20 ms, every model reply and every tool result durable as a step of its own before the
 * next turn starts. Measures a turn with one run at a time, from one request at the model to the next, and turns per second and
 * processor time with many runs at once. Reports only; asserts that each run ends with the right answer, nothing about time.
 *
 * Each engine runs in processes of its own behind one HTTP call that gives the answer of a run. Processor time is that of its app and
 * its servers, not of the model and the tools. Nobody waits for the disk: Postgres, NATS and Restate's log all run without fsync.
 * Pawl is its four services, each one process, with budgets, the ledger and the trace, which the others don't have; an app of the
 * others is one process, so one thread can be its limit.
 *
 * - DBOS: @dbos-inc/dbos-sdk 5.3.0 with its defaults (10 connections), a workflow called directly, its steps by `runStep`.
 * - LangGraph: @langchain/langgraph 1.7.3 with checkpoint-postgres 1.0.5 (10 connections), the graph API with a `Send` for each call,
 *   durability `sync`: by default, `async`, the next turn does not wait until the one before is stored.
 * - Restate: server 1.7.12 on one node with its defaults but fsync and telemetry, SDK 1.17.2 over HTTP/2, steps by `run`.
 */
import { startTestNats, startTestPostgres } from '@pawl/testkit';
import { startProcesses } from '../system/processes.ts';
import { startToolServer } from '../system/tool-server.ts';
import { startPeer, startRestate, type Peer } from './peers/start-peer.ts';
import { processorSecondsByName } from './processor-time.ts';
import { median, printTable } from './report.ts';

const turns = 5;
const tools = ['a', 'b', 'c'];
const rightAnswer = `${turns * tools.length} results.`;
const atOnce = 50;
const sizes = { warmUpRuns: 150, warmUps: 10, samples: 30, rounds: 5, runsOfRound: 150 };

/** When the requests of the run that is being timed reached the model. */
let asked: number[] = [];

const [nats, postgres, toolServer] = await Promise.all([startTestNats(), startTestPostgres(), startToolServer()]);
const pawl = await startProcesses({
  servers: { natsUrl: nats.url, databaseUrl: postgres.url },
  models: {
    scripted: {
      delayMs: 20,
      respond({ turn, observations }) {
        asked.push(performance.now());
        if (turn >= turns) return { answer: `${observations.filter(({ status }) => status === 'ok').length} results.` };
        return { say: `Round ${turn}.`, calls: tools.map((q) => ({ tool: 'quick', args: { q: `${q}${turn}` } })) };
      },
    },
  },
});
const peers = new Map<string, Peer>();
try {
  const endpoints = { modelUrl: pawl.modelUrl, toolUrl: `${toolServer.url}/wait/20` };
  const from = { endpoints, databaseUrl: postgres.url };
  peers.set('bare loop', await startPeer('bare', from));
  peers.set('Pawl', await setUpPawl(endpoints.toolUrl));
  peers.set('DBOS', await startPeer('dbos', from));
  peers.set('LangGraph', await startPeer('langgraph', from));
  peers.set('Restate', await startRestate(from));

  for (const peer of peers.values()) await runMany(peer, sizes.warmUpRuns);
  const turnsMs = await timeTurns();
  const loads = await loadAll();
  printTable(
    `A turn of one run at a time, and turns of ${atOnce} runs at once; × is the ratio to the bare loop`,
    tableOf(turnsMs, loads),
  );
} finally {
  for (const peer of peers.values()) await peer.stop();
  await pawl.stop();
  await toolServer.stop();
  await Promise.all([nats.stop(), postgres.stop()]);
}

async function setUpPawl(toolUrl: string): Promise<Peer> {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } };
  await pawl.api.putTool('quick', { parameters, http: { method: 'GET', url: toolUrl } });
  await pawl.api.putAgent('analyst', { tools: ['quick'] });
  return {
    processes: ['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store', 'nats-server', 'postgres'],
    async run() {
      const { body } = await pawl.api.run({ agent: 'analyst', input: 'Go.' });
      return body.answer ?? `${body.stopReason}: ${body.detail}`;
    },
    stop: async () => {},
  };
}

async function runRight({ run }: Peer): Promise<void> {
  const answer = await run();
  if (answer !== rightAnswer) throw new Error(`the answer was ${answer}, not ${rightAnswer}`);
}

/** By peer, the time from one request at the model to the next, in ms. One run at a time, each peer's after the other's. */
async function timeTurns(): Promise<Map<string, number[]>> {
  const gaps = new Map([...peers.keys()].map((name) => [name, [] as number[]]));
  for (let sample = -sizes.warmUps; sample < sizes.samples; sample += 1) {
    for (const [name, peer] of peers) {
      asked = [];
      await runRight(peer);
      if (sample < 0) continue;
      gaps.get(name)?.push(...asked.slice(1).map((atMs, index) => atMs - (asked[index] ?? atMs)));
    }
  }
  return gaps;
}

type Load = { turnsPerSecond: number; cpuMsOfTurn: Record<string, number> };

/** By peer, what each of its rounds gave. A round of each, then the next of each. */
async function loadAll(): Promise<Map<string, Load[]>> {
  const loads = new Map([...peers.keys()].map((name) => [name, [] as Load[]]));
  for (let round = 0; round < sizes.rounds; round += 1) {
    for (const [name, peer] of peers) loads.get(name)?.push(await load(peer));
  }
  return loads;
}

async function load(peer: Peer): Promise<Load> {
  const usedBefore = await processorSecondsByName();
  const startedAtMs = performance.now();
  await runMany(peer, sizes.runsOfRound);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const used = await processorSecondsByName();
  const allTurns = sizes.runsOfRound * (turns + 1);
  const cpuMs = (name: string) => (((used[name] ?? 0) - (usedBefore[name] ?? 0)) * 1_000) / allTurns;
  return {
    turnsPerSecond: allTurns / seconds,
    cpuMsOfTurn: Object.fromEntries(peer.processes.map((name) => [name, cpuMs(name)])),
  };
}

async function runMany(peer: Peer, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await runRight(peer);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  asked = [];
}

function tableOf(turnsMs: Map<string, number[]>, loads: Map<string, Load[]>): string[][] {
  const figures = [...peers].map(([name, { processes }]) => {
    const rounds = loads.get(name) ?? [];
    const cpuOf = (process: string) => median(rounds.map(({ cpuMsOfTurn }) => cpuMsOfTurn[process] ?? 0));
    return {
      name,
      turnMs: median(turnsMs.get(name) ?? []),
      turnsPerSecond: median(rounds.map(({ turnsPerSecond }) => turnsPerSecond)),
      cpuMs: processes.reduce((sum, process) => sum + cpuOf(process), 0),
      parts: processes.map((process) => `${process} ${cpuOf(process).toFixed(2)}`).join(', '),
    };
  });
  const bare = figures[0] ?? { turnMs: Number.NaN, turnsPerSecond: Number.NaN, cpuMs: Number.NaN };
  return [
    ['', 'turn p50 ms', '×', 'turns/s', '×', 'CPU ms/turn', '×', 'of which'],
    ...figures.map(({ name, turnMs, turnsPerSecond, cpuMs, parts }) => [
      name,
      turnMs.toFixed(2),
      (turnMs / bare.turnMs).toFixed(2),
      turnsPerSecond.toFixed(0),
      (turnsPerSecond / bare.turnsPerSecond).toFixed(2),
      cpuMs.toFixed(2),
      (cpuMs / bare.cpuMs).toFixed(1),
      parts,
    ]),
  ];
}
