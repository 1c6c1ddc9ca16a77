/** The event stream and the change of owners, on real NATS and Postgres. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus, connectKeys } from '@pawl/bus';
import { sha256, subjects, type RunView, type Scope } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { keys, playServices, request, startReplica, type Players, type Replica } from './played-services.suite.ts';

const servers = useTestServers();
let replicas: Replica[] = [];
let players: Players;
let isHolding = false;

beforeAll(async () => {
  players = await playServices(
    servers,
    {
      think: (work) =>
        work.m < 3
          ? { text: `round ${work.m}`, calls: [{ id: 'x', tool: 'search', args: `{"m":${work.m}}` }] }
          : { text: 'done' },
      act: () => (isHolding ? undefined : {}),
    },
    { reflection: { every: 100 } },
  );
  replicas = [await startReplica(servers), await startReplica(servers)];
});
afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await players.stop();
});

const urlOf = (index: number) => `${replicas[index]?.url ?? replicas[0]?.url}/v1/runs`;
type ServerEvent = { id: number; event: string };

/** Reads events until the stream ends, or `max` of them and then hangs up. */
async function readEvents(url: string, options: { max?: number } = {}): Promise<ServerEvent[]> {
  const hangUp = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${keys.demo}` },
    signal: hangUp.signal,
  });
  const events: ServerEvent[] = [];
  try {
    for await (const block of blocksOf(response)) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      const event = /^event: (\w+)$/m.exec(block)?.[1];
      if (id && event) events.push({ id: Number(id), event });
      if (events.length === options.max) hangUp.abort();
    }
  } catch (error) {
    if (!hangUp.signal.aborted) throw error;
  }
  return events.slice(0, options.max);
}

async function* blocksOf(response: Response): AsyncGenerator<string> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    const blocks = `${text}${Buffer.from(chunk).toString()}`.split('\n\n');
    text = blocks.pop() ?? '';
    yield* blocks;
  }
}

describe('the event stream', () => {
  it('tells every fact in order and ends with the run, from whichever replica', async () => {
    const { body } = await request<RunView>(urlOf(0), { body: { agent: 'analyst', input: 'go' } });
    const [first, second] = await Promise.all([0, 1].map((index) => readEvents(`${urlOf(index)}/${body.id}/events`)));
    expect(first).toEqual(second);
    const round = ['thought', 'acted', 'observed'];
    expect(first?.map(({ event }) => event)).toEqual(['started', ...round, ...round, ...round, 'thought', 'ended']);
  });

  it('may be left at any time without harm to the run', async () => {
    const { body } = await request<RunView>(urlOf(0), { body: { agent: 'analyst', input: 'go' } });
    await readEvents(`${urlOf(0)}/${body.id}/events`, { max: 2 });
    expect((await request<RunView>(`${urlOf(1)}/${body.id}?wait=20`)).body.stopReason).toBe('final_answer');
  });
});

it('a stream ends soon after the key that opened it has lost its right', async () => {
  isHolding = true;
  const bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  const directory = await connectKeys(bus);
  const allow = (scopes: Scope[]) =>
    directory.put(sha256('watcher'), { id: 'watcher', app: 'demo', scopes, expiresAt: null });
  await allow(['runs:read']);
  const { body: run } = await request<RunView>(urlOf(0), { body: { agent: 'analyst', input: 'go' } });
  const open = () => fetch(`${urlOf(0)}/${run.id}/events`, { headers: { authorization: 'Bearer watcher' } });
  const stream = await eventually(async () => {
    const response = await open();
    return response.status === 200 ? response : undefined;
  });
  await allow(['chat']);
  // To its end: the run goes on, so a stream that goes on as well would never come there.
  await stream.text();
  expect((await open()).status).toBe(403);
  isHolding = false;
  directory.close();
  await bus.close();
});

describe('a run that has left the log', () => {
  it('keeps its answer, and says where its steps are', async () => {
    const { body: run } = await request<RunView>(`${urlOf(0)}?wait=30`, { body: { agent: 'analyst', input: 'go' } });
    const bus = await connectBus({ url: servers.natsUrl, name: 'test' });
    await bus.jsm.streams.purge('RUNS', { filter: subjects.factsOfRun('demo', run.id) });
    await bus.close();
    await eventually(async () => (await request<RunView>(`${urlOf(1)}/${run.id}`)).body.answer === 'done');
    const gone = { status: 404, body: { code: 'not_found', detail: expect.stringContaining(`/v1/traces/${run.id}`) } };
    expect(await request(`${urlOf(0)}/${run.id}/events`)).toMatchObject(gone);
    expect(await request(`${urlOf(0)}/${run.id}/fork`, { body: { fromStep: 1 } })).toMatchObject(gone);
  });
});

describe('waiting for a run', () => {
  it('ends with the run, at whichever replica', async () => {
    const waiting = Array.from({ length: 12 }, (_, index) =>
      request<RunView>(`${urlOf(index % 2)}?wait=30`, { body: { agent: 'analyst', input: 'go' } }),
    );
    for (const { body } of await Promise.all(waiting))
      expect(body).toMatchObject({ stopReason: 'final_answer', steps: 4 });
  });

  it('has the log read at most once by each replica, however long it takes', async () => {
    isHolding = true;
    const bus = await connectBus({ url: servers.natsUrl, name: 'test' });
    const made: string[] = [];
    const onRequest = { callback: (_error: Error | null, { subject }: { subject: string }) => void made.push(subject) };
    bus.connection.subscribe('$JS.API.CONSUMER.CREATE.RUNS.>', onRequest);
    await bus.connection.flush();
    const { body: run } = await request<RunView>(urlOf(0), { body: { agent: 'analyst', input: 'go' } });
    const views = await Promise.all([0, 1].map((index) => request<RunView>(`${urlOf(index)}/${run.id}?wait=2`)));
    expect(views.map(({ body }) => body.status)).toEqual(['running', 'running']);
    // A replica looks once whether the run has stopped, and then reads along; its partition may go to another meanwhile.
    expect(made.filter((subject) => subject.includes(run.id)).length).toBeLessThanOrEqual(4);
    isHolding = false;
    await bus.close();
  });
});

describe('a change of owners', () => {
  it('carries every run on where it stood, each call asked for once', async () => {
    isHolding = true;
    const started = await Promise.all(
      Array.from({ length: 12 }, () => request<RunView>(urlOf(0), { body: { agent: 'analyst', input: 'go' } })),
    );
    const ids = started.map(({ body }) => body.id);
    await eventually(() => ids.every((id) => players.acts.some((work) => work.runId === id)));
    await replicas.shift()?.stop();
    isHolding = false;
    for (const id of ids) {
      const { body } = await request<RunView>(`${urlOf(0)}/${id}?wait=60`);
      expect(body).toMatchObject({ stopReason: 'final_answer', steps: 4, toolCalls: 3 });
      const events = await readEvents(`${urlOf(0)}/${id}/events`);
      expect(events.filter(({ event }) => event === 'observed')).toHaveLength(3);
    }
  });
});
