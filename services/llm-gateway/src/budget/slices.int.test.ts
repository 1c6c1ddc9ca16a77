import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus, type Bus } from '@pawl/bus';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog } from '@pawl/service';
import { eventually, useTestServers } from '@pawl/testkit';
import { noUsage } from '@pawl/contracts';
import { ledgerEntryOf, type LedgerEntry } from '../ledger/entry.ts';
import { schema } from '../schema.ts';
import { thinkWork } from '../testing/gateway-bench.ts';
import { requestOfWork } from '../think/request-of-work.ts';
import type { Level } from './levels.ts';
import { createSlices, type Slices } from './slices.ts';
import { createBudgetStore, type BudgetStore, type CallAddress } from './store.ts';

const servers = useTestServers();
let database: Database;
let bus: Bus;
const started: Slices[] = [];

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 10 });
  bus = await connectBus({ url: servers.natsUrl, name: 'test', partitions: 2 });
});
afterAll(async () => {
  for (const slices of started) await slices.stop();
  await bus.close();
  await database.close();
});

function level(limit: bigint, key = `budget/${randomUUID()}`): Level {
  const window = { fromMs: 0, toMs: null };
  return { kind: 'budget', key, title: key, unit: 'nano-usd', limit, keptBack: 0n, window, isRate: false };
}
const callOf = (): CallAddress => ({ runId: `chat_${randomUUID()}`, m: 0 });
const nothing = { entry: undefined, thought: undefined };
const holding = (of: Level, need: bigint) => ({ levels: [of], needs: [need], line: () => lineOf(callOf()) });

async function replica(): Promise<{ store: BudgetStore; slices: Slices; name: string }> {
  const name = `replica-${randomUUID()}`;
  const store = createBudgetStore(database, name);
  const slices = createSlices({ bus, store, log: createLog('test', 'silent'), owner: name, callsAhead: 8 });
  await slices.start();
  started.push(slices);
  return { store, slices, name };
}

/** Draws until a call that needs so much is held without Postgres. */
async function drawn(slices: Slices, of: Level, need: bigint): Promise<CallAddress> {
  const call = callOf();
  slices.note([of], [need]);
  await eventually(() => Promise.resolve(slices.take(call, holding(of, need))));
  return call;
}

/** What the books say of a call whose process died. */
function lineOf({ runId }: CallAddress): LedgerEntry {
  const work = thinkWork({ runId });
  const rate = { aboveInputTokens: -1, input: 1n, cachedInput: 1n, cacheWrite: 1n, output: 1n, reasoning: 1n };
  const line = ledgerEntryOf({
    callId: randomUUID(),
    request: requestOfWork(work),
    endpoint: { provider: 'p', model: 'm' },
    price: { tiers: [rate], perRequest: 0n, source: 'test' },
    usage: noUsage,
    costNanoUsd: 0n,
    basis: 'estimated',
    stopKind: 'lost',
    attempts: 1,
    traceId: '0'.repeat(32),
    at: new Date().toISOString(),
    isFinal: false,
  });
  return { ...line, held_nano_usd: '10' };
}

async function lapse(owner: string): Promise<void> {
  await database.query(`update gateway.slices set expires_at = now() - interval '1 second' where owner = $1`, [owner]);
}

describe('a slice', () => {
  it('is held in Postgres, gives to calls, and keeps what they did not take', async () => {
    const { store, slices } = await replica();
    const of = level(100_000n);
    const call = await drawn(slices, of, 10n);
    const { held } = await store.stateOf(of);
    expect(held).toBeGreaterThanOrEqual(80n);
    const sliced = await slices.beginSettling(call, [4n]);
    await store.charge({ call, levels: [of], taken: [4n], ...sliced, ...nothing });
    slices.settle(call, sliced?.covered);
    expect(await slices.beginSettling(call, [4n])).toBeUndefined();
    await eventually(async () => (await store.stateOf(of)).spent === 4n);
    await slices.stop();
    expect(await store.stateOf(of)).toEqual({ held: 0n, spent: 4n });
  });

  it('is no more than an eighth of what is left, and nothing where that is less than a call needs', async () => {
    const { store, slices } = await replica();
    const of = level(160n);
    slices.note([of], [21n]);
    const large = level(16_000n);
    await drawn(slices, large, 1_000n);
    expect(await store.stateOf(of)).toEqual({ held: 0n, spent: 0n });
    expect((await store.stateOf(large)).held).toBeLessThanOrEqual(2_000n + 1_750n);
  });

  it('is called back when another replica would have to refuse, but not what its own calls are using', async () => {
    const [one, other] = [await replica(), await replica()];
    const of = level(1_000n);
    await drawn(one.slices, of, 50n);
    const needed = callOf();
    const refused = await other.store.hold(needed, { levels: [of], needs: [940n] });
    expect(refused).toMatchObject({ outcome: 'refused', others: [one.name] });
    expect(await other.slices.callBack([of], [one.name])).toBe(true);
    expect(await other.store.hold(needed, { levels: [of], needs: [950n] })).toEqual({ outcome: 'held' });
    expect(await other.store.hold(callOf(), { levels: [of], needs: [1n] })).toMatchObject({ outcome: 'refused' });
  });

  it('is called back once for all that would have to refuse at the same time, and not from the dead', async () => {
    const [one, other] = [await replica(), await replica()];
    const of = level(1_000n);
    await drawn(one.slices, of, 50n);
    const asked = await Promise.all([1, 2, 3].map(() => other.slices.callBack([of], [one.name, 'dead'])));
    expect(asked).toEqual([true, true, true]);
    const needs = Array.from({ length: 19 }, () => other.store.hold(callOf(), { levels: [of], needs: [50n] }));
    expect((await Promise.all(needs)).map(({ outcome }) => outcome)).toEqual(Array.from({ length: 19 }, () => 'held'));
    expect(await other.slices.callBack([of], ['dead'])).toBe(false);
  });

  it('of a dead replica comes back once, when it has lapsed, and its own late charge still counts', async () => {
    const [dead, other] = [await replica(), await replica()];
    const of = level(10_000n);
    const call = await drawn(dead.slices, of, 10n);
    const sliced = await dead.slices.beginSettling(call, [7n]);
    await lapse(dead.name);
    await Promise.all([other.store.sweepHolds(), dead.store.sweepHolds()]);
    expect(await other.store.stateOf(of)).toEqual({ held: 0n, spent: 0n });
    await dead.store.charge({ call, levels: [of], taken: [7n], ...sliced, ...nothing });
    expect(await other.store.stateOf(of)).toEqual({ held: 0n, spent: 7n });
    await dead.slices.renew();
    expect(dead.slices.take(callOf(), holding(of, 1n))).toBe(false);
  });

  it('leaves a line of each call that takes its time and is lost with its process, and none of others', async () => {
    const { store, slices, name } = await replica();
    const of = level(100_000n);
    await drawn(slices, of, 10n);
    const [lost, settled] = [callOf(), callOf()];
    const linesOf = ({ runId }: CallAddress) =>
      database.query('select stop_kind, held_nano_usd from gateway.ledger where run_id = $1', [runId]);
    const keptOf = ({ runId }: CallAddress) => database.query('select 1 from gateway.holds where run_id = $1', [runId]);
    for (const call of [lost, settled]) {
      expect(slices.take(call, { ...holding(of, 10n), line: () => lineOf(call) })).toBe(true);
    }
    await eventually(async () => (await keptOf(settled)).length === 1);
    const sliced = await slices.beginSettling(settled, [5n]);
    expect(sliced?.isLineKept).toBe(true);
    await store.charge({ call: settled, levels: [of], taken: [5n], ...sliced, ...nothing });
    expect(await keptOf(settled)).toEqual([]);
    await eventually(async () => (await keptOf(lost)).length === 1);
    await database.query(`update gateway.holds set expires_at = now() - interval '1 second' where owner = $1`, [name]);
    await store.sweepHolds();
    expect(await linesOf(lost)).toEqual([{ stop_kind: 'lost', held_nano_usd: '10' }]);
    expect(await linesOf(settled)).toEqual([]);
  });

  it('of a limit that was lowered is not used any more', async () => {
    const { slices } = await replica();
    const of = level(10_000n);
    await drawn(slices, of, 10n);
    const lower = { ...of, limit: 800n };
    expect(slices.take(callOf(), holding(lower, 10n))).toBe(false);
    expect(slices.take(callOf(), holding(of, 10n))).toBe(true);
    slices.note([lower], [10n]);
    const { store } = await replica();
    // What is under way, and what may be drawn of the new limit.
    await eventually(async () => (await store.stateOf(of)).held <= 20n + 100n);
    await drawn(slices, lower, 10n);
  });
});

const owner = fc.constantFrom('a', 'b', 'c');
const amount = fc.bigInt({ min: 0n, max: 90n });
const step = fc.oneof(
  fc.record({ kind: fc.constant('draw' as const), owner, amount, isNew: fc.boolean() }),
  fc.record({ kind: fc.constant('give-back' as const), owner, amount }),
  fc.record({ kind: fc.constant('hold' as const), owner, amount }),
  fc.record({ kind: fc.constant('hold-ahead' as const), owner, amount }),
  fc.record({ kind: fc.constant('use' as const), owner, amount }),
  fc.record({ kind: fc.constant('charge' as const), owner, amount }),
  fc.record({ kind: fc.constant('lapse' as const), owner }),
);

it('I13: slices, holds and charges at the same time never pass the limit, and held is their sum', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), fc.boolean(), async (steps, isAtOnce) => {
      const of = level(400n);
      const nameOf = (name: string) => `${of.key}-${name}`;
      const calls: { call: CallAddress; owner: string; need: bigint }[] = [];
      const ahead: CallAddress[] = [];
      const over: unknown[] = [];
      const take = async (one: (typeof steps)[number]) => {
        const store = createBudgetStore(database, nameOf(one.owner));
        if (one.kind === 'draw') await store.draw(of, { wish: one.amount, least: 1n, isNew: one.isNew });
        if (one.kind === 'give-back') await store.giveBack(of, one.amount);
        if (one.kind === 'hold') {
          const call = callOf();
          const held = await store.hold(call, { levels: [of], needs: [one.amount] });
          if (held.outcome === 'held') calls.push({ call, owner: one.owner, need: one.amount });
        }
        if (one.kind === 'hold-ahead') {
          const call = callOf();
          if (await store.holdAhead(call, { levels: [of], needs: [one.amount] })) ahead.push(call);
        }
        if (one.kind === 'use') {
          const call = ahead.shift();
          const held = call && (await store.hold(call, { levels: [of], needs: [one.amount] }));
          if (call && held?.outcome === 'held') calls.push({ call, owner: one.owner, need: one.amount });
        }
        if (one.kind === 'charge') {
          const made = calls.shift();
          const taken = made && made.need < one.amount ? made.need : one.amount;
          if (made)
            await createBudgetStore(database, nameOf(made.owner)).charge({
              ...nothing,
              call: made.call,
              levels: [of],
              taken: [taken],
            });
        }
        if (one.kind === 'lapse') {
          await lapse(nameOf(one.owner));
          await store.sweepHolds();
        }
        const { held, spent } = await store.stateOf(of);
        if (held + spent > of.limit) over.push({ held, spent });
      };
      if (isAtOnce) await Promise.all(steps.map(take));
      else for (const one of steps) await take(one);
      const [sum] = await database.query<{ slices: string; holds: string }>(
        `select (select coalesce(sum(amount), 0) from gateway.slices where key = $1) as slices,
                (select coalesce(sum(a), 0) from gateway.holds h, unnest(h.amounts) as a where h.keys[1] = $1) as holds`,
        [of.key],
      );
      const { held } = await createBudgetStore(database, 'reader').stateOf(of);
      expect(over).toEqual([]);
      expect(held).toBe(BigInt(sum?.slices ?? 0) + BigInt(sum?.holds ?? 0));
    }),
    { numRuns: 40 },
  );
});
