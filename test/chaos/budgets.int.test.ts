/**
 * I13 under fire: three gateways, one budget of an app and the limit of one run in it, many calls at once; one gateway is killed and
 * Postgres goes away in the middle. What is charged and held, slices included, never passes either limit, and neither does the
 * provider's own meter; once the holds and slices of the dead gateway have lapsed, the rest of both can be spent to the last call.
 * Three of four calls count on the run, too: think work of it, and calls over HTTP for it, which are held in Postgres; the others
 * are held out of slices.
 *
 * `PAWL_TEST_FULL` makes it 1,000 calls and 10 s without Postgres.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectBus, type Bus } from '@pawl/bus';
import { formatNano } from '@pawl/contracts';
import { connectDatabase, type Database } from '@pawl/db';
import { createSim, type Sim } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { kinds, openCalls, type Calls, type Kind } from './calls.ts';
import { adminKey, startGateways, type Gateways } from './gateways.ts';
import { look, watch, type WatchOptions } from './watch.ts';

const servers = useTestServers();
let gateways: Gateways;
let bus: Bus;
let sim: Sim;
let database: Database;
let calls: Calls;
let watching: WatchOptions;

const isFull = process.env['PAWL_TEST_FULL'] !== undefined;
const callsAtOnce = isFull ? 1_000 : 240;
const outageMs = isFull ? 10_000 : 5_000;
/** 50 output tokens at 1 dollar a million, input free: every call costs exactly what was held for it. */
const maxTokens = 50;
const costNanoUsd = 50_000n;
/** A third of the run's calls fit into its limit, and the budget has room for the others beside them. */
const limits = {
  app: BigInt(callsAtOnce / 2) * costNanoUsd,
  run: BigInt(callsAtOnce / 4) * costNanoUsd,
};
const run = { runId: `run_${'c'.repeat(32)}`, limitNanoUsd: limits.run };

beforeAll(async () => {
  gateways = await startGateways({ natsUrl: servers.natsUrl, count: 3 });
  sim = createSim({ models: { m: { tokenDelayMs: 25, respond: () => ({ answer: 'word '.repeat(80) }) } } });
  const { url } = await sim.start();
  database = connectDatabase({ url: gateways.databaseUrl, applicationName: 'test', poolMax: 3 });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  const { key } = (await send('POST', '/v1/keys', { key: adminKey, body: { app: 'demo' } })).body as { key: string };
  await eventually(async () => (await send('GET', '/v1/routes', { key })).status === 200);
  const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '1' };
  const candidates = [{ provider: 'sim', model: 'm', baseUrl: `${url}/v1`, price }];
  await put(key, 'routes', { kind: 'ModelRoute', metadata: { name: 'smart' }, spec: { candidates } });
  const limit = { amount: formatNano(limits.app), currency: 'USD' };
  const spec = { scope: { app: 'demo' }, limit, window: 'total' };
  await put(key, 'budgets', { kind: 'Budget', metadata: { name: 'all' }, spec });
  calls = await openCalls({ urls: gateways.urls, bus, app: 'demo', key, run, maxTokens });
  const keys = { appKey: 'budget/demo/all/*/*/nano-usd', runKey: `run/${run.runId}` };
  watching = { database, ...keys, limits, metered };
});
afterAll(async () => {
  await calls?.stop();
  await bus?.close();
  await database?.close();
  await gateways?.stop();
  await sim?.stop();
});

type Sent = { status: number; body: unknown };

async function send(method: string, path: string, of: { key: string; body?: unknown }): Promise<Sent> {
  const response = await fetch(gateways.urls[0] + path, {
    method,
    headers: { authorization: `Bearer ${of.key}`, 'content-type': 'application/json' },
    ...(of.body === undefined ? {} : { body: JSON.stringify(of.body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function put(key: string, path: string, object: { kind: string; metadata: { name: string }; spec: unknown }) {
  const body = { apiVersion: 'pawl.dev/v1', ...object, metadata: { ...object.metadata, app: 'demo' } };
  expect((await send('PUT', `/v1/${path}/${object.metadata.name}`, { key, body })).status).toBe(200);
}

/** What the provider would bill, also for calls of which nobody heard the end. */
function metered(): bigint {
  return sim.requests.reduce((sum, { usage }) => sum + BigInt(usage.completionTokens) * 1_000n, 0n);
}

/** The name by which a gateway holds money: that of the hold of its only call. */
async function ownerOf(url: string): Promise<string> {
  const asking = calls.ask('run, keyed', url);
  const [hold] = await eventually(async () => {
    const rows = await database.query<{ owner: string }>('select owner from gateway.holds');
    return rows.length === 1 && rows;
  });
  expect(await asking).toBe('answered');
  return hold?.owner ?? '';
}

/** How many of each outcome came of calls that are made at once. */
async function askAll(ofKinds: readonly Kind[]): Promise<Record<string, number>> {
  const outcomes = await Promise.all(ofKinds.map((kind) => calls.ask(kind)));
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** So many calls in turn of these kinds. */
function inTurn(ofKinds: readonly Kind[], count: number): Kind[] {
  return Array.from({ length: count }, (_none, position) => ofKinds[position % ofKinds.length] as Kind);
}

const ofRun = kinds.filter((kind) => kind !== 'app');
const tooMany = 12;
const victim = 1;

it('M1, M2, M17: no cent above a limit, and none withheld, whatever dies', { timeout: 400_000 }, async () => {
  // What the run may spend is known from its own thinking.
  expect(await calls.ask('think work')).toBe('answered');
  const isLimitKnown = async () => (await database.query('select from gateway.run_limits')).length === 1;
  await eventually(isLimitKnown);
  const owner = await ownerOf(gateways.urls[victim] ?? '');

  const watcher = watch(watching);
  const asking = askAll(inTurn(kinds, callsAtOnce));
  await eventually(() => sim.requestCount >= 10, { withinMs: 60_000 });
  await gateways.kill(victim);
  const { ofDead } = await look({ ...watching, dead: { owner, held: 0n } });
  watching.dead = { owner, held: ofDead };
  await gateways.stopPostgres();
  const goneAt = performance.now();
  await eventually(() => performance.now() - goneAt >= outageMs);
  await gateways.startPostgres();
  const outcomes = await asking;
  expect(Object.keys(outcomes).toSorted()).toEqual(['answered', 'refused']);

  const isNothingHeld = async () => {
    const { app, run: own } = await look(watching);
    return app.held + own.held === 0n;
  };
  await eventually(isNothingHeld, { withinMs: 90_000, what: 'the holds of the dead lapse, and slices nobody needs' });
  const burst = await watcher.stop();
  expect(burst.wrong).toEqual([]);
  expect(burst.looks).toBeGreaterThan(50);
  // Whoever was refused was refused for a limit that had been reached.
  expect(burst.most.run).toBe(limits.run);
  const { app, run: own } = await look(watching);
  const rows = await database.query<{ stop_kind: string; held: string | null; sum: string }>(
    'select stop_kind, sum(held_nano_usd)::text as held, sum(cost_nano_usd)::text as sum from gateway.ledger group by 1',
  );
  expect(BigInt(rows.find(({ stop_kind }) => stop_kind === 'complete')?.sum ?? 0)).toBe(app.spent);
  expect(rows.some(({ stop_kind, held }) => stop_kind === 'lost' && held !== null)).toBe(true);

  // As many calls at once as there is money for: each of them fits, and none more.
  const again = watch(watching);
  const leftOfRun = Number((limits.run - own.spent) / costNanoUsd);
  const restOfRun = await askAll(inTurn(ofRun, leftOfRun + tooMany));
  expect(restOfRun).toEqual({ refused: tooMany, ...(leftOfRun === 0 ? {} : { answered: leftOfRun }) });
  const leftOfApp = Number((limits.app - (await look(watching)).app.spent) / costNanoUsd);
  const restOfApp = await askAll(inTurn(['app'], leftOfApp + tooMany));
  expect(restOfApp).toEqual({ refused: tooMany, ...(leftOfApp === 0 ? {} : { answered: leftOfApp }) });

  expect((await again.stop()).wrong).toEqual([]);
  const end = await look(watching);
  expect({ app: end.app.spent, run: end.run.spent }).toEqual(limits);
  process.stdout.write(
    `  limits ${limits.app} and ${limits.run}, never passed in ${burst.looks} looks (most ${burst.most.app} and ` +
      `${burst.most.run}); ${outcomes['answered']} of ${callsAtOnce} answered at first\n`,
  );
});
