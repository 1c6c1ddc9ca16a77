/**
 * I13 under fire: three gateways, one budget, many calls at once; one gateway is killed and Postgres goes away in the middle.
 * What is charged and held, slices included, never passes the limit, and neither does the provider's own meter; once the holds and
 * slices of the dead gateway have lapsed, the rest of the budget can be spent to the last call. Every other call has an idempotency
 * key, so that it is held in Postgres; the rest is held out of slices.
 *
 * `PAWL_TEST_FULL` makes it 1,000 calls and 10 s without Postgres.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatNano } from '@pawl/contracts';
import { connectDatabase, type Database } from '@pawl/db';
import { createSim, type Sim } from '@pawl/sim';
import { eventually, useTestServers } from '@pawl/testkit';
import { adminKey, startGateways, type Gateways } from './gateways.ts';

const servers = useTestServers();
let gateways: Gateways;
let sim: Sim;
let database: Database;
let key: string;

const isFull = process.env['PAWL_TEST_FULL'] !== undefined;
const callsAtOnce = isFull ? 1_000 : 240;
/** 50 output tokens at 1 dollar a million, input free: every call costs exactly what was held for it. */
const costNanoUsd = 50_000n;
const limitNanoUsd = BigInt(callsAtOnce / 2) * costNanoUsd;
const outageMs = isFull ? 10_000 : 5_000;
const attemptsMax = 60;

beforeAll(async () => {
  gateways = await startGateways({ natsUrl: servers.natsUrl, count: 3 });
  sim = createSim({ models: { m: { tokenDelayMs: 25, respond: () => ({ answer: 'word '.repeat(80) }) } } });
  const { url } = await sim.start();
  database = connectDatabase({ url: gateways.databaseUrl, applicationName: 'test', poolMax: 3 });
  const made = await send('POST', '/v1/keys', { key: adminKey, body: { app: 'demo' } });
  ({ key } = made.body as { key: string });
  await eventually(async () => (await send('GET', '/v1/routes', { key })).status === 200);
  const price = { currency: 'USD', inputPerMillion: '0', outputPerMillion: '1' };
  const candidates = [{ provider: 'sim', model: 'm', baseUrl: `${url}/v1`, price }];
  await put('routes', { kind: 'ModelRoute', metadata: { name: 'smart' }, spec: { candidates } });
  const limit = { amount: formatNano(limitNanoUsd), currency: 'USD' };
  const spec = { scope: { app: 'demo' }, limit, window: 'total' };
  await put('budgets', { kind: 'Budget', metadata: { name: 'all' }, spec });
});
afterAll(async () => {
  await database.close();
  await gateways.stop();
  await sim.stop();
});

type Sent = { status: number; body: unknown };

type Sending = { key: string; body?: unknown; url?: string; idempotencyKey?: string };

async function send(method: string, path: string, of: Sending): Promise<Sent> {
  const response = await fetch((of.url ?? gateways.urls[0]) + path, {
    method,
    headers: {
      authorization: `Bearer ${of.key}`,
      'content-type': 'application/json',
      ...(of.idempotencyKey === undefined ? {} : { 'idempotency-key': of.idempotencyKey }),
    },
    ...(of.body === undefined ? {} : { body: JSON.stringify(of.body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function put(path: string, object: { kind: string; metadata: { name: string }; spec: unknown }) {
  const body = { apiVersion: 'pawl.dev/v1', ...object, metadata: { ...object.metadata, app: 'demo' } };
  expect((await send('PUT', `/v1/${path}/${object.metadata.name}`, { key, body })).status).toBe(200);
}

/** One call, asked again elsewhere while a gateway or its Postgres is away. */
async function ask(position: number): Promise<number> {
  const body = { model: 'smart', max_tokens: 50, messages: [{ role: 'user', content: 'Go.' }] };
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const url = gateways.urls[(position + attempt) % gateways.urls.length] ?? '';
    const idempotencyKey = position % 2 === 0 ? { idempotencyKey: randomUUID() } : {};
    const sent = await send('POST', '/v1/chat/completions', { key, body, url, ...idempotencyKey }).catch(
      () => undefined,
    );
    if (sent && sent.status !== 503) return sent.status;
    await recovered();
  }
  return 0;
}

let recovering: Promise<unknown> | undefined;

/** When a gateway can work again, whoever asks. */
function recovered(): Promise<unknown> {
  const isReady = (url: string) =>
    fetch(`${url}/healthz/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  const isAnyReady = async () => (await Promise.all(gateways.urls.map(isReady))).includes(true);
  recovering ??= eventually(isAnyReady, { withinMs: 60_000 }).finally(() => (recovering = undefined));
  return recovering;
}

const state = async () => {
  const rows = await database.query<{ held: string; spent: string }>(
    `select held, spent from gateway.counters where key like 'budget/demo/all/%'`,
  );
  return { held: BigInt(rows[0]?.held ?? 0), spent: BigInt(rows[0]?.spent ?? 0) };
};
const metered = (outcomes: string[]) =>
  sim.requests
    .filter(({ outcome }) => outcomes.includes(outcome))
    .reduce((sum, { usage }) => sum + BigInt(usage.completionTokens) * 1_000n, 0n);

/** Looks at the budget all the time; what it saw above the limit. */
function watch(): { stop(): Promise<{ over: bigint[]; samples: number; most: bigint }> } {
  const over: bigint[] = [];
  let samples = 0;
  let most = 0n;
  let isDone = false;
  const watching = (async () => {
    while (!isDone) {
      const seen = await state().catch(() => undefined);
      if (seen) samples += 1;
      if (seen && seen.held + seen.spent > most) most = seen.held + seen.spent;
      if (seen && seen.held + seen.spent > limitNanoUsd) over.push(seen.held + seen.spent);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  return {
    async stop() {
      isDone = true;
      await watching;
      return { over, samples, most };
    },
  };
}

it('M1, M2, M17: no cent above the limit, and none withheld, whatever dies', { timeout: 240_000 }, async () => {
  const watcher = watch();
  const calls = Array.from({ length: callsAtOnce }, (_none, position) => ask(position));
  await eventually(() => sim.requestCount >= 10, { withinMs: 60_000 });
  await gateways.kill(1);
  await gateways.stopPostgres();
  const goneAt = performance.now();
  await eventually(() => performance.now() - goneAt >= outageMs);
  await gateways.startPostgres();
  const statuses = await Promise.all(calls);
  expect([...new Set(statuses)].toSorted((a, b) => a - b)).toEqual([200, 402]);

  // Everything the provider has on its meter, also for the calls of the dead gateway, was held or charged.
  expect(metered(['completed', 'aborted', 'failed'])).toBeLessThanOrEqual(limitNanoUsd);
  const { over, samples, most } = await watcher.stop();
  expect(over).toEqual([]);
  expect(samples).toBeGreaterThan(50);
  const answered = statuses.filter((status) => status === 200).length;
  process.stdout.write(
    `  limit ${limitNanoUsd}, most seen ${most} in ${samples} looks, ${answered} of ${callsAtOnce} answered\n`,
  );

  const isNothingHeld = async () => (await state()).held === 0n;
  await eventually(isNothingHeld, {
    withinMs: 90_000,
    what: 'the holds of the dead lapse, and slices that nobody needs',
  });
  const { spent: spentBefore } = await state();
  const rows = await database.query<{ stop_kind: string; held: string | null; sum: string }>(
    'select stop_kind, sum(held_nano_usd)::text as held, sum(cost_nano_usd)::text as sum from gateway.ledger group by 1',
  );
  const complete = rows.find(({ stop_kind }) => stop_kind === 'complete');
  expect(BigInt(complete?.sum ?? 0)).toBe(spentBefore);
  expect(rows.some(({ stop_kind, held }) => stop_kind === 'lost' && held !== null)).toBe(true);

  // As many calls at once as there is money for: each of them fits.
  const left = Number((limitNanoUsd - spentBefore) / costNanoUsd);
  const rest = await Promise.all(Array.from({ length: left }, (_none, position) => ask(position)));
  expect(rest).toEqual(Array.from({ length: left }, () => 200));
  expect(await ask(0)).toBe(402);
  expect((await state()).spent).toBe(limitNanoUsd);
});
