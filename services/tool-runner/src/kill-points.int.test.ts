/**
 * C12, I10: kill -9 of a real runner at every point of a write, then another one that takes over. What the tool says about its effects
 * is the truth: without a key an effect happens at most once, with a key exactly once.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import pg from 'pg';
import type { ActWork, Observed } from '@pawl/contracts';
import { eventually, startBreakableNats, useTestServers, type BreakableNats } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { environmentOf, openWorkBench, toolOf, type WorkBench } from './testing/runner-bench.ts';

const servers = useTestServers();
const main = new URL('./main.ts', import.meta.url).pathname;
const kinds = ['unkeyed', 'keyed'] as const;
let nats: BreakableNats;
let bench: WorkBench;
let runner: ChildProcess | undefined;
let shop: Shop;

beforeAll(async () => {
  nats = await startBreakableNats();
  bench = await openWorkBench({ ...servers, natsUrl: nats.url });
  shop = await openShop();
});
afterEach(async () => {
  if (runner?.exitCode === null && runner.signalCode === null) await kill('SIGKILL');
  runner = undefined;
});
afterAll(async () => {
  await bench.close();
  await shop.close();
  await nats.stop();
});

/** A tool that has effects, stops where a test wants it to, and, as tools with keys do, has an effect once per key. */
type Shop = {
  url: string;
  /** The same behind a wire that takes what is sent and passes nothing on. */
  cutUrl: string;
  effects: Map<string, number>;
  /** Calls that wait, by their path. */
  held: Map<string, () => void>;
  isArrivingOnWire(): number;
  isOpen: boolean;
  close(): Promise<void>;
};

async function openShop(): Promise<Shop> {
  const done = new Set<string>();
  let arriving = 0;
  const state: Pick<Shop, 'effects' | 'held' | 'isOpen'> = { effects: new Map(), held: new Map(), isOpen: false };
  const act = (path: string, key: string) => {
    if (path.startsWith('/keyed') && done.has(key)) return;
    done.add(key);
    state.effects.set(path, (state.effects.get(path) ?? 0) + 1);
  };
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    const key = String(request.headers['idempotency-key']);
    const pass = () => void response.end('{"ok":true}');
    if (path.includes('before-effect') && !state.isOpen) return void state.held.set(path, pass);
    act(path, key);
    if (path.includes('held') && !state.isOpen) return void state.held.set(path, pass);
    pass();
  };
  const server = createServer(answer);
  const port = await listening(server);
  // Once it is open, it passes everything on.
  const wire = createTcpServer((socket) => {
    socket.on('error', () => {});
    if (!state.isOpen) return void (arriving += 1);
    const onward = connect(port, '127.0.0.1');
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  const wirePort = await listening(wire);
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    cutUrl: `http://127.0.0.1:${wirePort}`,
    isArrivingOnWire: () => arriving,
    async close() {
      server.closeAllConnections();
      server.close();
      wire.close();
    },
  });
}

async function listening(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function startRunner(): void {
  const env = environmentOf({ ...servers, natsUrl: nats.url });
  runner = spawn(process.execPath, [main], { env, stdio: 'inherit' });
}

async function kill(signal: NodeJS.Signals): Promise<void> {
  if (!runner) return;
  const exited = once(runner, 'exit');
  runner.kill(signal);
  await exited;
}

/** Both kinds of write at one point, each with its own path, so that its effects can be counted. */
async function writesAt(point: string, url = shop.url): Promise<Record<(typeof kinds)[number], ActWork>> {
  const [unkeyed, keyed] = await Promise.all(
    kinds.map(async (kind) => {
      const http = { method: 'POST', url: `${url}/${kind}/${point}` };
      const spec = { http, effect: 'write', timeout: '10m', ...(kind === 'keyed' ? { idempotent: true } : {}) };
      const deadlineAt = new Date(Date.now() + 300_000).toISOString();
      return await bench.workFor(toolOf('write', spec), { deadlineAt });
    }),
  );
  if (!unkeyed || !keyed) throw new Error('no work');
  return { unkeyed, keyed };
}

async function ask(writes: Record<string, ActWork>): Promise<void> {
  await Promise.all(Object.values(writes).map(bench.ask));
}

async function expectEffects(writes: Record<(typeof kinds)[number], ActWork>, point: string): Promise<void> {
  const observed = async (work: ActWork): Promise<Observed> =>
    await eventually(() => bench.observed(work), { withinMs: 60_000, what: `a write at ${point} is observed` });
  const [unkeyed, keyed] = await Promise.all([observed(writes.unkeyed), observed(writes.keyed)]);
  expect(keyed.observation.status, point).toBe('ok');
  expect(shop.effects.get(`/keyed/${point}`), point).toBe(1);
  const count = shop.effects.get(`/unkeyed/${point}`) ?? 0;
  expect(count, point).toBeLessThanOrEqual(1);
  expect(['ok', 'in_doubt'], point).toContain(unkeyed.observation.status);
  // Whoever is told that it was done has it done.
  expect(unkeyed.observation.status === 'ok' && count === 0, point).toBe(false);
}

/** Nothing can be claimed or finished until the returned function is called. */
async function lockEffects(): Promise<() => Promise<void>> {
  const client = new pg.Client(servers.databaseUrl);
  await client.connect();
  await client.query('begin; lock table tools.effects in exclusive mode');
  return async () => await client.end();
}

async function blockedStatements(): Promise<number> {
  const rows = await bench.database.query<{ pid: number }>(
    `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%tools.effects%'`,
  );
  return rows.length;
}

test(
  'C12: kill -9 before the claim, on the wire, before the effect, after it, and before its result is stored',
  { timeout: 180_000 },
  async () => {
    startRunner();
    const onWire = await writesAt('wire', shop.cutUrl);
    const beforeEffect = await writesAt('before-effect');
    const afterEffect = await writesAt('held');
    const beforeResult = await writesAt('held-result');
    const beforeClaim = await writesAt('plain');
    await Promise.all([onWire, beforeEffect, afterEffect, beforeResult].map(ask));
    await eventually(() => shop.held.size === 6 && shop.isArrivingOnWire() === 2, { withinMs: 60_000 });
    const unlock = await lockEffects();
    for (const kind of kinds) shop.held.get(`/${kind}/held-result`)?.();
    await ask(beforeClaim);
    await eventually(async () => (await blockedStatements()) === 4, { withinMs: 30_000 });

    await kill('SIGKILL');
    await unlock();
    shop.isOpen = true;
    startRunner();
    await expectEffects(onWire, 'wire');
    await expectEffects(beforeEffect, 'before-effect');
    await expectEffects(afterEffect, 'held');
    await expectEffects(beforeResult, 'held-result');
    await expectEffects(beforeClaim, 'plain');
  },
);

test(
  'C12: kill -9 after the result is stored and before its fact is published, and before the work is acknowledged',
  { timeout: 180_000 },
  async () => {
    shop.isOpen = false;
    shop.held.clear();
    startRunner();
    const beforeFact = await writesAt('held-fact');
    await ask(beforeFact);
    await eventually(() => shop.held.size === 2, { withinMs: 60_000 });
    nats.freeze();
    for (const pass of shop.held.values()) pass();
    const stored = async () => {
      const runIds = Object.values(beforeFact).map((work) => work.runId);
      const rows = await bench.database.query(
        `select key from tools.effects where run_id = any($1) and state = 'done'`,
        [runIds],
      );
      return rows.length === 2;
    };
    await eventually(stored, { withinMs: 30_000 });
    await kill('SIGKILL');
    nats.resume();
    shop.isOpen = true;
    startRunner();
    await expectEffects(beforeFact, 'held-fact');

    // The fact is there, and nobody acknowledged the work: it comes again.
    await kill('SIGKILL');
    await ask(beforeFact);
    const later = await writesAt('plain-later');
    startRunner();
    await ask(later);
    await expectEffects(later, 'plain-later');
    await expectEffects(beforeFact, 'held-fact');
  },
);
