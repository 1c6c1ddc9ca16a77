import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClient, type PawlClient } from './client.ts';
import { PawlError } from './pawl-error.ts';
import type { RunEvent } from './run-events.ts';
import { runId, runView, startRunServer, storyOf, type RunServer } from './testing/run-server.ts';
import { actedWith, pausedFact, pausedRun, refundCall, waitingRun } from './testing/waiting-run.ts';

let server: RunServer;
let client: PawlClient;

beforeEach(async () => {
  server = await startRunServer();
  client = createClient({ baseUrl: `${server.url}/`, key: 'the-key' });
});
afterEach(async () => {
  await server.stop();
});

const problem = (status: number, code: string) => ({
  status,
  body: { status, code, title: 'x', detail: `it is ${code}` },
});

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}
const factsOf = (events: RunEvent[]) => events.flatMap((event) => (event.kind === 'fact' ? [event.fact] : []));

describe('requests', () => {
  test('go to their path with the key', async () => {
    await client.startRun({ agent: 'analyst', input: 'why?' }, { idempotencyKey: 'k', waitSeconds: 5 });
    await client.getRun(runId, { waitSeconds: 1 });
    await client.cancelRun(runId, 'enough');
    await client.listRuns({ status: 'ended', agent: 'a b', limit: 5 });
    await client.putObject({
      apiVersion: 'pawl.dev/v1',
      kind: 'DataSource',
      metadata: { app: 'demo', name: 'warehouse' },
      spec: { postgres: { url: 'postgres://x' } },
    });
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/runs?wait=5',
      `GET /v1/runs/${runId}?wait=1`,
      `POST /v1/runs/${runId}/cancel`,
      'GET /v1/runs?status=ended&agent=a+b&limit=5',
      'PUT /v1/data-sources/warehouse',
    ]);
    expect(server.seen.every(({ headers }) => headers.authorization === 'Bearer the-key')).toBe(true);
    expect(server.seen[0]).toMatchObject({
      headers: { 'idempotency-key': 'k' },
      body: { agent: 'analyst', input: 'why?' },
    });
    expect(server.seen[2]?.body).toEqual({ reason: 'enough' });
  });

  test('a problem document is a PawlError and is not tried again', async () => {
    server.instead.push(problem(404, 'unknown_agent'));
    const error = await client.startRun({ agent: 'x', input: 'y' }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PawlError);
    expect(error).toMatchObject({ status: 404, code: 'unknown_agent', detail: 'it is unknown_agent' });
    expect(server.seen).toHaveLength(1);
  });

  test('an answer that is not Pawl’s is a PawlError, too', async () => {
    server.instead.push({ status: 400, body: '<html>no</html>' });
    await expect(client.getRun(runId)).rejects.toMatchObject({ status: 400, code: 'unknown' });
  });

  test('a broken connection, a 503 and a broken answer are tried again, a start with the same key', async () => {
    server.instead.push('reset', problem(503, 'unavailable'), { status: 200, body: '{"id":' });
    expect(await client.startRun({ agent: 'analyst', input: 'why?' })).toMatchObject({ id: runId });
    expect(server.seen).toHaveLength(4);
    const keys = new Set(server.seen.map(({ headers }) => headers['idempotency-key']));
    expect(keys.size).toBe(1);
    expect([...keys][0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('nobody there: PawlError with status 0', async () => {
    await server.stop();
    await expect(client.getRun(runId)).rejects.toMatchObject({ status: 0, code: 'unreachable' });
  });

  test('an aborted signal ends a request with its reason', async () => {
    const reason = new Error('enough');
    await expect(client.getRun(runId, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('events', () => {
  test('come in order up to the end', async () => {
    const events = await collect(client.events(runId));
    expect(factsOf(events)).toEqual(server.facts);
    expect(events.filter(({ kind }) => kind === 'delta')).not.toHaveLength(0);
  });

  test('R19: cut at every event, 50 times in one run: no gap, no repeat', async () => {
    server.facts = storyOf(49);
    server.cutBefore = (index, connection) => index === connection;
    const facts = factsOf(await collect(client.events(runId)));
    expect(facts).toEqual(server.facts);
    expect(server.seen.filter(({ path }) => path.endsWith('/events'))).toHaveLength(50);
  }, 60_000);

  test('a server that sends again what was read does not make it come twice', async () => {
    server.facts = storyOf(5);
    server.cutBefore = (index, connection) => connection === 1 && index === 3;
    server.ignoresLastEventId = true;
    expect(factsOf(await collect(client.events(runId)))).toEqual(server.facts);
    expect(server.seen.filter(({ path }) => path.endsWith('/events'))).toHaveLength(2);
  });

  test('begin behind lastEventId; behind the end of a run they are over', async () => {
    const all = await collect(client.events(runId));
    const ids = all.flatMap((event) => (event.kind === 'fact' ? [event.id] : []));
    expect(factsOf(await collect(client.events(runId, { lastEventId: ids[1]! })))).toEqual(server.facts.slice(2));
    expect(await collect(client.events(runId, { lastEventId: ids.at(-1)! }))).toEqual([]);
  });

  test('of an unknown run are an error at once; without a server after the patience', async () => {
    server.instead.push(problem(404, 'unknown_run'));
    await expect(collect(client.events(runId))).rejects.toMatchObject({ code: 'unknown_run' });
    await server.stop();
    await expect(collect(client.events(runId, { patienceMs: 200 }))).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('end with an aborted signal, or when nobody listens any more', async () => {
    const leaving = new AbortController();
    const reason = new Error('enough');
    server.facts = storyOf(1_000);
    const reading = (async () => {
      for await (const event of client.events(runId, { signal: leaving.signal }))
        if (event.kind === 'fact') leaving.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    for await (const event of client.events(runId)) if (event.kind === 'fact') break;
  });

  test('an event of several megabytes arrives whole', async () => {
    server.facts = storyOf(1, 'x'.repeat(5_000_000));
    expect(factsOf(await collect(client.events(runId)))).toEqual(server.facts);
  });
});

describe('people’s words', () => {
  const approve = { decision: 'approve', argsHash: refundCall.argsHash! } as const;

  test('reach the run; a decision on other arguments, or a second one, is a conflict', async () => {
    server.run = waitingRun;
    const wrong = { ...approve, argsHash: 'e'.repeat(64) };
    await expect(client.decideApproval(runId, 'call_0_0', wrong)).rejects.toMatchObject({ code: 'conflict' });
    expect(await client.decideApproval(runId, 'call_0_0', approve)).toMatchObject({ status: 'running', pending: [] });
    await expect(client.decideApproval(runId, 'call_0_0', approve)).rejects.toMatchObject({ code: 'conflict' });
    await client.sendSignal(runId, { text: 'look at March' });
    server.run = pausedRun;
    expect(await client.resumeRun(runId, { steps: 20 })).toMatchObject({ status: 'running' });
    await expect(client.resumeRun(runId)).rejects.toMatchObject({ code: 'conflict' });
    expect(await client.forkRun(runId, { fromStep: 2 })).toMatchObject({ forkOf: { runId, fromStep: 2 } });
    expect(server.seen.slice(-5).map(({ path, body }) => [path.split('/').at(-1), body])).toEqual([
      ['call_0_0', approve],
      ['signals', { text: 'look at March' }],
      ['resume', { limits: { steps: 20 } }],
      ['resume', {}],
      ['fork', { fromStep: 2 }],
    ]);
  });

  test('are sent one time: what was lost on the way may have arrived', async () => {
    const sendings = [
      () => client.sendSignal(runId, { text: 'x' }),
      () => client.decideApproval(runId, 'c', approve),
      () => client.resumeRun(runId),
      () => client.forkRun(runId, { fromStep: 1 }),
      () => client.callTool('echo'),
      () => client.createKey({ app: 'demo' }),
    ];
    for (const send of sendings) {
      server.seen.length = 0;
      server.instead = ['reset'];
      await expect(send()).rejects.toMatchObject({ code: 'unreachable' });
      expect(server.seen).toHaveLength(1);
    }
  });

  test('listPending reads every page of what waits', async () => {
    server.instead.push(
      { status: 200, body: { items: [waitingRun], next: 'c1' } },
      { status: 200, body: { items: [], next: 'c2' } },
      { status: 200, body: { items: [waitingRun], next: null } },
    );
    expect(await client.listPending({ agent: 'analyst' })).toHaveLength(2);
    expect(server.seen.map(({ path }) => path)).toEqual([
      '/v1/runs?agent=analyst&status=waiting&limit=200',
      '/v1/runs?agent=analyst&cursor=c1&status=waiting&limit=200',
      '/v1/runs?agent=analyst&cursor=c2&status=waiting&limit=200',
    ]);
  });
});

describe('events until rest', () => {
  test.for([
    ['waits for people', actedWith(refundCall), waitingRun],
    ['has paused', pausedFact, pausedRun],
  ] as const)('stop when the run %s, while the server keeps the stream open', async ([, last, run]) => {
    server.facts = [...storyOf(1).slice(0, 1), last];
    server.run = run;
    expect(factsOf(await collect(client.events(runId, { untilRest: true })))).toEqual(server.facts);
  });

  test('go on over a pause and a wait that are over by now', async () => {
    server.facts = [actedWith(refundCall), pausedFact, ...storyOf(1)];
    expect(factsOf(await collect(client.events(runId, { untilRest: true })))).toEqual(server.facts);
  });
});

test('a tool gets its arguments digit for digit', async () => {
  await client.callTool('echo', '{"id":9007199254740993}', { idempotencyKey: 'k' });
  expect(await client.callTool('echo', { id: 1 })).toMatchObject({ status: 'ok', data: { id: 1 } });
  expect(server.seen[0]).toMatchObject({
    path: '/v1/tools/echo/call',
    text: '{"args":{"id":9007199254740993}}',
    headers: { 'idempotency-key': 'k' },
  });
});

test('spending and keys', async () => {
  expect((await client.readSpend({ by: ['agent', 'day'], from: '2026-11-01' })).items[0]).toMatchObject({ calls: 12 });
  expect(server.seen[0]?.path).toBe('/v1/spend?by=agent%2Cday&from=2026-11-01');
  await client.createKey({ app: 'demo', scopes: ['runs:read'] });
  expect(server.seen[1]).toMatchObject({ path: '/v1/keys', body: { app: 'demo', scopes: ['runs:read'] } });
});

test('the view of a run is passed on as it is', async () => {
  expect(await client.getRun(runId)).toEqual(runView);
});
