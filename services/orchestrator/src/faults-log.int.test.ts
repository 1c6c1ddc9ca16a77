/** Kinds of faults of the log and its readers: lost work, new revisions, cut connections, history that grows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRegistry, readFacts } from '@pawl/bus';
import { streams, subjects, type AgentSpec, type RunView, type ThinkWork } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { playServices, keys, request, startReplica, type Players, type Replica } from './played-services.suite.ts';

const isFull = process.env['PAWL_TEST_FULL'] !== undefined;
const servers = useTestServers();
let replica: Replica;
let players: Players;
let gate = Promise.withResolvers<void>();
/** Runs whose first think work is taken and lost. */
const lost = new Set<string>();

const questionOf = (work: ThinkWork) => work.messages.find(({ role }) => role === 'user')?.content ?? '';
const search = (args: object) => ({ id: '', tool: 'search', args: JSON.stringify(args) });

beforeAll(async () => {
  players = await playServices(servers, {
    async think(work) {
      if (work.purpose === 'summarize') return { text: 'What was found so far.' };
      if (work.purpose !== 'think') return { text: 'Best so far.' };
      const [kind, count = '0'] = questionOf(work).split(' ');
      const steps = players.thinks.filter(({ runId, purpose }) => runId === work.runId && purpose === 'think').length;
      if (kind === 'lost' && !lost.has(work.runId)) {
        lost.add(work.runId);
        return undefined;
      }
      if (kind === 'gated') await gate.promise;
      return steps <= Number(count) ? { text: `Round ${work.m}.`, calls: [search({ m: work.m })] } : { text: 'Done.' };
    },
    act: (work) => ({ data: JSON.stringify({ text: `Result of call ${work.m}. `.repeat(1_000).slice(0, 10_000) }) }),
  });
  replica = await startReplica(servers);
});
afterAll(async () => {
  gate.resolve();
  await replica.stop();
  await players.stop();
});

const runs = (path = '') => `${replica.url}/v1/runs${path}`;
const start = async (input: string, limits: object = {}) =>
  (await request<RunView>(runs(), { body: { agent: 'analyst', input, limits } })).body;

async function ended(id: string): Promise<RunView> {
  const { body } = await request<RunView>(runs(`/${id}?wait=60`));
  expect(body).toMatchObject({ status: 'ended', stopReason: 'final_answer', answer: 'Done.' });
  return body;
}

const plentiful = { steps: 200, toolCalls: 200, tokens: 1_000_000_000, wallClock: '600s', spend: usd('1000') };

function usd(amount: string) {
  return { amount, currency: 'USD' };
}

describe('R6 the dedupe window swallows a legitimate re-drive', () => {
  // `redriveAfterMs` in live-run.ts asks again after 10 s; publish.ts gives work no Nats-Msg-Id, which would keep it out.
  it('think work that is lost is asked for again, well within two minutes', { timeout: 60_000 }, async () => {
    const { id } = await start('lost 0', plentiful);
    await eventually(() => lost.has(id));
    expect(players.thinks.filter(({ runId }) => runId === id)).toHaveLength(1);
    expect(await ended(id)).toMatchObject({ steps: 1 });
    expect(players.thinks.filter(({ runId }) => runId === id)).toHaveLength(2);
  });
});

describe('R18 a deploy breaks running runs', () => {
  // `startRun` pins a definition by its hash; live-run.ts and the tool-runner use that, never the registry's newest (I7).
  it(
    'agent and tool change under runs in flight: each finishes on what it was started with',
    { timeout: 120_000 },
    async () => {
      gate = Promise.withResolvers<void>();
      const before = await Promise.all(Array.from({ length: isFull ? 200 : 20 }, () => start('gated 1')));
      const underWay = () => players.thinks.filter(({ runId }) => before.some(({ id }) => id === runId));
      await eventually(() => underWay().length >= 20);
      const registry = await connectRegistry(players.bus);
      const object = { apiVersion: 'pawl.dev/v1', metadata: { app: 'demo', name: 'analyst' } } as const;
      const spec: AgentSpec = { instructions: 'Be verbose.', models: { think: 'smart' }, tools: [] };
      await registry.put({ ...object, kind: 'Agent', spec });
      await registry.remove('Tool', 'demo', 'search');
      registry.close();
      const { revision: newest } = await deployed('Be verbose.');
      const after = await start('gated 0');
      expect(after.revision).toBe(newest);
      await replica.stop();
      replica = await startReplica(servers);
      gate.resolve();
      for (const { id, revision } of before)
        expect(await ended(id)).toMatchObject({ revision, toolCalls: 1, steps: 2 });
      const beginnings = underWay().map(({ messages }) => messages[0]?.content?.slice(0, 9));
      expect(new Set(beginnings)).toEqual(new Set(['Be brief.']));
      await ended(after.id);
      const [work] = players.thinks.filter(({ runId }) => runId === after.id);
      expect(work?.messages[0]?.content).toContain('Be verbose.');
      await restoreAgent();
    },
  );
});

async function restoreAgent(): Promise<void> {
  const registry = await connectRegistry(players.bus);
  const object = { apiVersion: 'pawl.dev/v1', metadata: { app: 'demo', name: 'analyst' } } as const;
  const spec: AgentSpec = { instructions: 'Be brief.', models: { think: 'smart' }, tools: ['search'] };
  const http = { method: 'GET' as const, url: 'http://localhost/' };
  const metadata = { app: 'demo', name: 'search' };
  await registry.put({ ...object, kind: 'Tool', metadata, spec: { description: 'Searches.', http } });
  await registry.put({ ...object, kind: 'Agent', spec });
  registry.close();
  await deployed('Be brief.');
}

/** The agent, as soon as the replica knows it with these instructions. */
async function deployed(instructions: string): Promise<{ revision: string }> {
  return await eventually(async () => {
    const { body } = await request<{ revision: string; spec: AgentSpec }>(`${replica.url}/v1/agents/analyst`);
    return body.spec.instructions === instructions && body;
  });
}

describe('R19 client connection owns server state', () => {
  // The id of an event is its place in the log, and `Last-Event-ID` is where followFacts goes on (run-events.ts).
  it('a stream that is cut behind every event, 50 times in one run: no gap, no repeat, the run goes on', async () => {
    const { id } = await start('steps 16', plentiful);
    const pieces: ServerEvent[] = [];
    while (pieces.at(-1)?.event !== 'ended') pieces.push(await nextEvent(id, pieces.at(-1)?.id));
    expect(pieces.length).toBeGreaterThan(50);
    const logged = await readFacts(players.bus, 'demo', id);
    expect(pieces).toEqual(logged.map(({ fact, sequence }) => ({ id: sequence, event: fact.kind })));
    await expect(nextEvent(id, pieces.at(-1)?.id)).rejects.toThrow('the stream ended without an event');
    expect(await ended(id)).toMatchObject({ steps: 17, toolCalls: 16 });
  });
});

type ServerEvent = { id: number; event: string };

/** Connects, reads one event and hangs up. */
async function nextEvent(runId: string, behind: number | undefined): Promise<ServerEvent> {
  const hangUp = new AbortController();
  const headers = { authorization: `Bearer ${keys.demo}`, ...(behind ? { 'last-event-id': String(behind) } : {}) };
  const response = await fetch(runs(`/${runId}/events`), { headers, signal: hangUp.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    text += piece.value;
    const [, id, event] = /^id: (\d+)\nevent: (\w+)\n/m.exec(text) ?? [];
    if (!id || !event) continue;
    hangUp.abort();
    return { id: Number(id), event };
  }
  throw new Error('the stream ended without an event');
}

describe('R16 history stored again at every step', () => {
  const steps = isFull ? 100 : 30;

  // Facts are deltas (facts.ts), work is deleted once it is done, and `nextPurpose` has the history summed up.
  it(`${steps} steps of 10 KB: little more is stored than was said, and a late step asks for no more than an early one`, async () => {
    const { id } = await start(`steps ${steps}`, plentiful);
    expect(await ended(id)).toMatchObject({ steps: steps + 1, toolCalls: steps });
    const facts = await readFacts(players.bus, 'demo', id);
    const distinct = facts.reduce(
      (sum, { fact }) => sum + (fact.kind === 'observed' ? (fact.observation.data?.length ?? 0) : 0),
      0,
    );
    expect(distinct).toBeGreaterThan(steps * 10_000);
    expect(await storedBytes(id)).toBeLessThan(distinct * 1.5);
    for (const stream of [streams.think, streams.act]) {
      await eventually(async () => (await players.bus.jsm.streams.info(stream)).state.messages === 0);
    }
    const sizes = players.thinks
      .filter(({ runId, purpose }) => runId === id && purpose === 'think')
      .map(({ messages }) => JSON.stringify(messages).length);
    expect(Math.max(...sizes.slice(-10))).toBeLessThan(1.2 * Math.max(...sizes.slice(0, 10)));
  }, 120_000);
});

/** Payload bytes of a run's log. */
async function storedBytes(runId: string): Promise<number> {
  const info = await players.bus.jsm.streams.info(streams.runs, {
    subjects_filter: subjects.factsOfRun('demo', runId),
  });
  const stored = Object.keys(info.state.subjects ?? {}).map(async (subject) => {
    const message = await players.bus.jsm.streams.getMessage(streams.runs, { last_by_subj: subject });
    return message?.data.length ?? 0;
  });
  return (await Promise.all(stored)).reduce((sum, bytes) => sum + bytes, 0);
}
