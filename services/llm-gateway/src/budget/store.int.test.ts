import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { useTestServers } from '@pawl/testkit';
import { ledgerEntryOf } from '../ledger/entry.ts';
import { schema } from '../schema.ts';
import { requestOfWork } from '../think/request-of-work.ts';
import { thinkWork } from '../testing/gateway-bench.ts';
import type { Level } from './levels.ts';
import { createBudgetStore } from './store.ts';

const servers = useTestServers();
let database: Database;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 20 });
});
afterAll(() => database.close());

function level(key: string, limit: bigint): Level {
  const kind = key.startsWith('run/') ? 'run' : 'budget';
  return {
    kind,
    key,
    title: key,
    unit: 'nano-usd',
    limit,
    keptBack: 0n,
    window: { fromMs: 0, toMs: null },
    isRate: false,
  };
}
const storeOf = (owner: string) => createBudgetStore(database, owner);
const rate = { aboveInputTokens: -1, input: 1n, cachedInput: 1n, cacheWrite: 1n, output: 1n, reasoning: 1n };

function entryOf(work = thinkWork(), callId: string = randomUUID()) {
  return ledgerEntryOf({
    callId,
    request: requestOfWork(work),
    endpoint: { provider: 'p', model: 'm' },
    price: { tiers: [rate], perRequest: 0n, source: 'test' },
    usage: { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 },
    costNanoUsd: 2n,
    basis: 'measured',
    stopKind: 'complete',
    attempts: 1,
    traceId: '0'.repeat(32),
    at: new Date().toISOString(),
    isFinal: true,
  });
}

async function lapse(runId: string): Promise<void> {
  await database.query(`update gateway.holds set expires_at = now() - interval '1 second' where run_id = $1`, [runId]);
}

describe('a hold', () => {
  it('is on every level or on none, and tells what was left', async () => {
    const store = storeOf('one');
    const levels = [level('budget/all-or-none', 100n), level(`run/${randomUUID()}`, 10n)];
    expect(await store.hold(thinkWork(), { levels: levels, needs: [20n, 20n] })).toEqual({
      outcome: 'refused',
      refusedBy: 1,
      lefts: [100n, 10n],
      others: [],
      isShared: false,
      ahead: { amounts: [0n, 0n], lapsesInMs: 0 },
    });
    expect(await store.stateOf(levels[0] as Level)).toEqual({ held: 0n, spent: 0n });
    expect(await store.hold(thinkWork(), { levels: levels, needs: [10n, 10n] })).toEqual({ outcome: 'held' });
    expect(await store.stateOf(levels[0] as Level)).toEqual({ held: 10n, spent: 0n });
  });

  it('of a dead process counts beside that of the next one for the same call, until it lapses', async () => {
    const of = level('budget/inherited', 100n);
    const work = thinkWork();
    await storeOf('dead').hold(work, { levels: [of], needs: [80n] });
    expect(await storeOf('alive').hold(work, { levels: [of], needs: [70n] })).toMatchObject({
      outcome: 'refused',
      lefts: [20n],
      isShared: true,
    });
    await lapse(work.runId);
    await storeOf('third').sweepHolds();
    expect(await storeOf('alive').hold(work, { levels: [of], needs: [70n] })).toEqual({ outcome: 'held' });
    expect(await storeOf('alive').stateOf(of)).toEqual({ held: 70n, spent: 0n });
  });

  it('is replaced when its own process holds again, on other levels, too, and for less', async () => {
    const [of, other] = [level('budget/replaced', 100n), level('budget/a-newer-one', 100n)];
    const work = thinkWork();
    const store = storeOf('one');
    await store.hold(work, { levels: [of], needs: [80n] });
    expect(await store.hold(work, { levels: [other, of], needs: [70n, 70n] })).toEqual({ outcome: 'held' });
    expect(await store.stateOf(of)).toEqual({ held: 70n, spent: 0n });
    await store.charge({ call: work, levels: [other, of], taken: [5n, 5n], entry: entryOf(work), thought: '{}' });
    expect(await store.stateOf(of)).toEqual({ held: 0n, spent: 5n });
    expect(await store.stateOf(other)).toEqual({ held: 0n, spent: 5n });
  });

  it('counts until it lapses, is renewed by its owner, and is given back by anyone', async () => {
    const of = level('budget/lapsing', 100n);
    const [dead, alive] = [thinkWork(), thinkWork()];
    await storeOf('dead').hold(dead, { levels: [of], needs: [30n] });
    await storeOf('living').hold(alive, { levels: [of], needs: [40n] });
    await storeOf('third').sweepHolds();
    expect((await storeOf('third').stateOf(of)).held).toBe(70n);
    await lapse(dead.runId);
    await lapse(alive.runId);
    await storeOf('living').renewHolds();
    expect(await storeOf('third').sweepHolds()).toBe(1);
    expect(await storeOf('third').stateOf(of)).toEqual({ held: 40n, spent: 0n });
  });
});

describe('what a dead process had under way', () => {
  const lines = (runId: string) =>
    database.query<Record<string, unknown>>('select * from gateway.ledger where run_id = $1', [runId]);
  const lostLine = (work = thinkWork()) => ({
    ...entryOf(work),
    stop_kind: 'lost' as const,
    is_final: false,
    cost_nano_usd: '0',
    held_nano_usd: '30',
  });

  it('leaves a line when its hold lapses, once', async () => {
    const of = level('budget/lost', 100n);
    const work = thinkWork();
    await storeOf('dead').hold(work, { levels: [of], needs: [30n], line: lostLine(work) });
    await lapse(work.runId);
    await Promise.all([storeOf('a').sweepHolds(), storeOf('b').sweepHolds()]);
    expect(await lines(work.runId)).toMatchObject([{ stop_kind: 'lost', held_nano_usd: '30', is_final: false }]);
    expect(await storeOf('a').stateOf(of)).toEqual({ held: 0n, spent: 0n });
  });

  it('leaves a line also when another has made the call meanwhile, and none when it goes on itself', async () => {
    const of = level('budget/heir', 100n);
    const work = thinkWork();
    const holding = { levels: [of], needs: [30n], line: lostLine(work) };
    await storeOf('dead').hold(work, holding);
    await storeOf('dead').hold(work, { ...holding, line: lostLine(work) });
    await storeOf('heir').hold(work, { ...holding, line: lostLine(work) });
    await storeOf('heir').charge({ call: work, levels: [of], taken: [4n], entry: entryOf(work), thought: '{}' });
    expect(await storeOf('heir').stateOf(of)).toEqual({ held: 30n, spent: 4n });
    await lapse(work.runId);
    await storeOf('third').sweepHolds();
    const kinds = (await lines(work.runId)).map(({ stop_kind }) => String(stop_kind));
    expect(kinds.toSorted()).toEqual(['complete', 'lost']);
    expect(await storeOf('heir').stateOf(of)).toEqual({ held: 0n, spent: 4n });
  });

  it('is left alone by an exclusive hold while it is alive', async () => {
    const of = level('budget/exclusive', 100n);
    const work = thinkWork();
    await storeOf('first').hold(work, { levels: [of], needs: [30n] });
    const exclusive = { levels: [of], needs: [40n], isExclusive: true };
    expect(await storeOf('second').hold(work, exclusive)).toEqual({ outcome: 'in-use' });
    expect((await storeOf('second').stateOf(of)).held).toBe(30n);
    await lapse(work.runId);
    expect(await storeOf('second').hold(work, exclusive)).toEqual({ outcome: 'held' });
    await storeOf('third').sweepHolds();
    expect((await storeOf('second').stateOf(of)).held).toBe(40n);
  });
});

describe('a charge', () => {
  it('happens once, whoever repeats it, and gives the thought that was first', async () => {
    const of = level('budget/once', 100n);
    const work = thinkWork();
    const store = storeOf('one');
    await store.hold(work, { levels: [of], needs: [50n] });
    const settlement = { call: work, levels: [of], taken: [2n], entry: entryOf(work), thought: '{"first":true}' };
    expect(await store.charge(settlement)).toBeUndefined();
    const again = { ...settlement, entry: entryOf(work), thought: '{"second":true}' };
    expect(await storeOf('two').charge(again)).toBe('{"first":true}');
    expect(await store.stateOf(of)).toEqual({ held: 0n, spent: 2n });
    expect(await store.hold(work, { levels: [of], needs: [50n] })).toEqual({
      outcome: 'settled',
      thought: '{"first":true}',
    });
    expect(await store.stateOf(of)).toEqual({ held: 0n, spent: 2n });
    expect(await database.query('select 1 from gateway.ledger where run_id = $1', [work.runId])).toHaveLength(1);
  });

  it('of a zombie, beside whose hold another made its own, settles the call for both', async () => {
    const of = level('budget/zombie', 100n);
    const work = thinkWork();
    await storeOf('zombie').hold(work, { levels: [of], needs: [50n] });
    await storeOf('heir').hold(work, { levels: [of], needs: [50n] });
    await storeOf('zombie').charge({ call: work, levels: [of], taken: [3n], entry: entryOf(work), thought: '"z"' });
    expect(
      await storeOf('heir').charge({ call: work, levels: [of], taken: [4n], entry: entryOf(work), thought: '"h"' }),
    ).toBe('"z"');
    expect(await storeOf('heir').stateOf(of)).toEqual({ held: 0n, spent: 3n });
  });

  it('M19: counts in the window in which it was held, also when that is over', async () => {
    const day = (fromMs: number): Level => ({ ...level('budget/rolling', 100n), window: { fromMs, toMs: fromMs + 1 } });
    const [today, tomorrow] = [day(0), day(86_400_000)];
    const [late, early] = [thinkWork(), thinkWork()];
    const store = storeOf('one');
    await store.hold(late, { levels: [today], needs: [60n] });
    // The window rolls over while the call is under way: the new one begins empty.
    expect(await store.hold(early, { levels: [tomorrow], needs: [100n] })).toEqual({ outcome: 'held' });
    await store.charge({ call: late, levels: [today], taken: [8n], entry: entryOf(late), thought: '{}' });
    expect(await store.stateOf(today)).toEqual({ held: 0n, spent: 8n });
    expect(await store.stateOf(tomorrow)).toEqual({ held: 100n, spent: 0n });
  });

  it('also counts when its hold had lapsed', async () => {
    const of = level('budget/late', 100n);
    const work = thinkWork();
    await storeOf('slow').hold(work, { levels: [of], needs: [50n] });
    await lapse(work.runId);
    await storeOf('other').sweepHolds();
    await storeOf('slow').charge({ call: work, levels: [of], taken: [7n], entry: entryOf(work), thought: '{}' });
    expect(await storeOf('slow').stateOf(of)).toEqual({ held: 0n, spent: 7n });
  });

  it('without a thought settles the money only, once, and leaves the hold of an heir alone', async () => {
    const of = level('budget/abandoned', 100n);
    const work = thinkWork();
    await storeOf('stopping').hold(work, { levels: [of], needs: [50n] });
    await storeOf('heir').hold(work, { levels: [of], needs: [40n] });
    const entry = { ...entryOf(work), stop_kind: 'abandoned' as const, is_final: false };
    const settlement = { call: work, levels: [of], taken: [2n], entry, thought: undefined };
    await storeOf('stopping').charge(settlement);
    await storeOf('stopping').charge(settlement);
    expect(await storeOf('heir').stateOf(of)).toEqual({ held: 40n, spent: 2n });
  });

  it('can not be changed or removed from the books', async () => {
    const work = thinkWork();
    await storeOf('one').charge({ call: work, levels: [], taken: [], entry: entryOf(work), thought: '{}' });
    for (const sql of [
      'update gateway.ledger set cost_nano_usd = 0',
      'delete from gateway.ledger',
      'truncate gateway.ledger',
    ]) {
      await expect(database.query(sql)).rejects.toThrow('append-only');
    }
  });
});

describe('what it costs', () => {
  it('does not grow with the tables, also where the planner knows nothing of them', async () => {
    // Each connection counts for itself, and tells when it is asked to.
    const own = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 1 });
    const store = createBudgetStore(own, 'scans');
    const settle = async () => {
      const work = thinkWork();
      const levels = [level('budget/scans', 10n ** 12n), level(`run/${work.runId}`, 100n)];
      await store.hold(work, { levels, needs: [1n, 1n], line: entryOf(work) });
      await store.holdAhead({ ...work, m: 1 }, { levels, needs: [1n, 1n] });
      await store.charge({ call: work, levels, taken: [1n, 1n], entry: entryOf(work), thought: '{}' });
      await store.sweepHolds();
    };
    const scansOf = async () => {
      await own.query('select pg_stat_force_next_flush()');
      return await own.query(
        `select relname, seq_scan from pg_stat_user_tables
           where schemaname = 'gateway' and relname in ('counters', 'holds', 'replies', 'ledger') order by 1`,
      );
    };
    await settle();
    const before = await scansOf();
    for (let times = 0; times < 10; times += 1) await settle();
    expect(await scansOf()).toEqual(before);
    await own.close();
  });
});

describe('many at once', () => {
  it('never pass a limit and never lock each other up, in whatever order levels, sweeps and repeats meet', async () => {
    const shared = ['a', 'b', 'c'].map((name) => level(`budget/crowd-${name}`, 500n));
    const calls = Array.from({ length: 60 }, (_, index) => ({ work: thinkWork(), index }));
    const over: bigint[] = [];
    await Promise.all(
      calls.map(async ({ work, index }) => {
        const store = storeOf(`owner-${index % 3}`);
        const levels = [
          ...shared.filter((_level, position) => (index + position) % 3 !== 0),
          level(`run/${work.runId}`, 100n),
        ];
        const held = await store.hold(work, { levels, needs: levels.map(() => 40n) });
        for (const of of shared) {
          const state = await store.stateOf(of);
          if (state.held + state.spent > of.limit) over.push(state.held + state.spent);
        }
        if (held.outcome !== 'held') return;
        if (index % 4 === 0) await Promise.all([lapse(work.runId), store.sweepHolds()]);
        const next = { ...work, m: 1 };
        if (index % 3 === 0) await store.holdAhead(next, { levels, needs: levels.map(() => 5n) });
        if (index % 6 === 0) await storeOf('heir').hold(next, { levels, needs: levels.map(() => 7n) });
        const settlement = { call: work, levels, taken: levels.map(() => 9n), entry: entryOf(work), thought: '{}' };
        await Promise.all([store.charge(settlement), storeOf('other').charge({ ...settlement, entry: entryOf(work) })]);
      }),
    );
    await Promise.all(calls.map(({ work }) => lapse(work.runId)));
    await storeOf('last').sweepHolds();
    expect(over).toEqual([]);
    const charged = await database.query<{ run_id: string }>(
      'select run_id from gateway.replies where run_id = any($1)',
      [calls.map(({ work }) => work.runId)],
    );
    for (const [position, of] of shared.entries()) {
      const ofLevel = calls.filter(
        ({ work, index }) => (index + position) % 3 !== 0 && charged.some(({ run_id }) => run_id === work.runId),
      );
      expect(await storeOf('last').stateOf(of)).toEqual({ held: 0n, spent: 9n * BigInt(ofLevel.length) });
    }
  });
});
