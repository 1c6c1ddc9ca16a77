/** Keeping, dropping, holding and erasing, on a real Postgres and a real run log. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Readable } from 'node:stream';
import { connectBus, openResult, putResult, type Bus } from '@pawl/bus';
import { sha256, slotOf, streams, subjects, UnavailableError, type Fact, type Forgetting } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { publishFact } from '@pawl/bus';
import { noRules } from '@pawl/redaction';
import { newTraceContext } from '@pawl/telemetry';
import { useTestServers } from '@pawl/testkit';
import { readFactMessage } from '../record/fact-message.ts';
import { schema } from '../schema.ts';
import { addHold, liftHold } from '../store/holds.ts';
import { readErasures, requestErasure } from '../store/erasures.ts';
import { listPlaces } from '../store/partitions.ts';
import { createTraceTables, type TraceTables } from '../store/trace-tables.ts';
import { writeBatch } from '../store/write-batch.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { eraseUsers } from './erase-users.ts';
import { createResultExpiry } from './expire-results.ts';
import { placeOf, suffixOf } from './period.ts';
import { createPolicy } from './policy.ts';
import { forgetOldNotes, keepAndDrop } from './retention.ts';

const servers = useTestServers();
const nowMs = Date.parse('2026-06-01T00:00:00.000Z');
const day = (age: number) => new Date(nowMs - age * 86_400_000).toISOString();
let database: Database;
let bus: Bus;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 8 });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
});
afterAll(async () => {
  await bus.close();
  await database.close();
});

async function tablesWith(keptDays: Record<string, number>): Promise<TraceTables> {
  const policy = createPolicy({ database, keptDays: new Map(Object.entries(keptDays)) });
  await policy.refresh();
  return createTraceTables({ database, policy, nowMs: () => nowMs });
}

function readingsOf(facts: readonly Fact[]) {
  return facts.map((fact, at) => {
    const subject = `pawl.run.0.${fact.app}.${fact.runId}.${slotOf(fact)}`;
    const data = new TextEncoder().encode(JSON.stringify(fact));
    return readFactMessage({ subject, sequence: at + 1, data }, () => noRules);
  });
}

const runOf = (app: string, age: number) =>
  salesRunFacts({ app, runId: runIdAt(day(age), app + age), startedAt: day(age) });
const idOf = (facts: readonly Fact[]) => facts[0]?.runId ?? '';
const count = async (app: string) => {
  const [row] = await database.query<{ runs: string; records: string; contents: string }>(
    `select (select count(*) from traces.runs where app = $1) as runs,
            (select count(*) from traces.records where app = $1) as records,
            (select count(*) from traces.contents where app = $1) as contents`,
    [app],
  );
  return [Number(row?.runs), Number(row?.records), Number(row?.contents)];
};

describe('retention', () => {
  test('T9: what has expired goes by dropping tables, without deleting a row, while others write', async () => {
    const tables = await tablesWith({ standard: 30 });
    const forEver = await tablesWith({});
    const large = { ...runOf('keep', 60)[0], environment: { text: 'x'.repeat(50_000) } } as Fact;
    await writeBatch(forEver, readingsOf([large, ...runOf('keep', 60).slice(1)]));
    const oldPlace = suffixOf(placeOf({ app: 'keep', runId: idOf(runOf('keep', 60)) }, []));
    // Many more rows of that week, as a busy app would have left them.
    await database.query(
      `insert into traces.records_${oldPlace} (class, app, run_id, slot, sequence, kind, at, started_at, duration_ms, body, body_bytes)
       select 'standard', 'keep', $1, 'signal.' || number, number, 'signal', now(), now(), 0, '{}', 2
       from generate_series(1, 20000) as number`,
      [idOf(runOf('keep', 60))],
    );
    await database.query(
      `create function never() returns trigger language plpgsql as $$ begin raise exception 'a row was deleted'; end $$`,
    );
    await database.query(
      `create trigger never before delete on traces.records_${oldPlace} for each row execute function never()`,
    );
    await writeBatch(tables, readingsOf(runOf('keep', 10)));
    const writing = Promise.all([11, 12, 13].map((age) => writeBatch(tables, readingsOf(runOf('keep', age)))));
    const { dropped } = await keepAndDrop(tables);
    await writing;
    expect(dropped).toContain(oldPlace);
    expect(await count('keep')).toEqual([4, 68, 0]);
    expect((await listPlaces(database)).map(suffixOf)).not.toContain(oldPlace);
  });

  test('makes the tables of the weeks to come ahead, of every class', async () => {
    const tables = await tablesWith({ standard: 30, short: 7 });
    await keepAndDrop(tables);
    const names = (await listPlaces(database)).map(suffixOf);
    const inTwoWeeks = placeOf({ app: 'a', runId: runIdAt(day(-14), 'ahead') }, []).week;
    expect(names).toEqual(expect.arrayContaining([`standard_w${inTwoWeeks}`, `short_w${inTwoWeeks}`]));
  });

  test('is that of the class that the app had when the run was born', async () => {
    await database.query(`insert into traces.app_classes (app, since, class) values ('brief', $1, 'short')`, [day(20)]);
    const tables = await tablesWith({ standard: 30, short: 7 });
    await writeBatch(tables, readingsOf(runOf('brief', 22)));
    await writeBatch(await tablesWith({}), readingsOf(runOf('brief', 18)));
    await writeBatch(tables, readingsOf(runOf('brief', 2)));
    await keepAndDrop(tables);
    const rows = await database.query(`select class, run_id from traces.runs where app = 'brief' order by run_id`);
    expect(rows).toEqual([
      { class: 'standard', run_id: idOf(runOf('brief', 22)) },
      { class: 'short', run_id: idOf(runOf('brief', 2)) },
    ]);
  });

  test('what has expired is not stored again when the log is read once more', async () => {
    const tables = await tablesWith({ standard: 30 });
    expect(await writeBatch(tables, readingsOf(runOf('again', 60)))).toEqual([]);
    expect(await count('again')).toEqual([0, 0, 0]);
  });

  test('a legal hold keeps a run beyond its week, whole, until it is lifted', async () => {
    const tables = await tablesWith({ standard: 30 });
    const [held, other] = [runOf('court', 60), runOf('court', 61)];
    const large = { ...held[0], environment: { text: 'x'.repeat(50_000) } } as Fact;
    await writeBatch(await tablesWith({}), readingsOf([large, ...held.slice(1), ...other]));
    const hold = await addHold(database, {
      app: 'court',
      runId: idOf(held),
      userId: null,
      reason: 'case 7',
      by: 'ops',
    });
    const before = await database.query(
      `select records.slot, body, parts from traces.records where run_id = $1 order by slot`,
      [idOf(held)],
    );
    expect(await keepAndDrop(tables)).toMatchObject({ runsHeld: 1 });
    expect(await count('court')).toEqual([1, 17, 1]);
    const after = await database.query(
      `select records.slot, body, parts from traces.records where run_id = $1 order by slot`,
      [idOf(held)],
    );
    expect(after).toEqual(before);
    await liftHold(database, 'court', hold.id);
    expect(await keepAndDrop(tables)).toMatchObject({ runsReleased: 1 });
    expect(await count('court')).toEqual([0, 0, 0]);
  });

  test('takes the whole results of tools with a run that has expired, and no other', async () => {
    const tables = await tablesWith({ standard: 30 });
    const forEver = await tablesWith({});
    const runs = { expired: runOf('results', 60), held: runOf('results', 61), young: runOf('results', 10) };
    for (const facts of Object.values(runs)) {
      await writeBatch(forEver, readingsOf(facts));
      await putResult(bus, { ref: `results/${idOf(facts)}/0/0` }, Readable.from([Buffer.from('a table')]));
    }
    const held = { app: 'results', runId: idOf(runs.held), userId: null, reason: 'case 8', by: 'ops' };
    const hold = await addHold(database, held);
    const left = async () => {
      await createResultExpiry({ tables, bus, everyMs: 60_000 })();
      const found = Object.entries(runs).map(async ([name, facts]) =>
        (await openResult(bus, `results/${idOf(facts)}/0/0`)) ? [name] : [],
      );
      return (await Promise.all(found)).flat();
    };
    // Nothing goes before its rows do.
    expect(await left()).toEqual(['expired', 'held', 'young']);
    await keepAndDrop(tables);
    expect(await left()).toEqual(['held', 'young']);
    await liftHold(database, 'results', hold.id);
    await keepAndDrop(tables);
    expect(await left()).toEqual(['young']);
  });
});

test('notes about runs that no class keeps are forgotten; while one class keeps for ever, they stay', async () => {
  for (const age of [1, 100, 500]) {
    await database.query('insert into traces.foreign_runs (app, trace_id, run_id, seen_at) values ($1, $2, $3, $4)', [
      'notes',
      String(age),
      'run',
      day(age),
    ]);
    await database.query(`insert into traces.reads (app, minute, key_id, action) values ('notes', $1, 'k', 'trace')`, [
      day(age),
    ]);
  }
  const left = async (table: string) => {
    const rows = await database.query<{ count: string }>(`select count(*) from traces.${table} where app = 'notes'`);
    return Number(rows[0]?.count);
  };
  await forgetOldNotes(
    createTraceTables({
      database,
      nowMs: () => nowMs,
      policy: createPolicy({ database, keptDays: new Map([['standard', undefined]]) }),
    }),
  );
  expect([await left('foreign_runs'), await left('reads')]).toEqual([3, 2]);
  await forgetOldNotes(await tablesWith({ standard: 30, short: 7 }));
  expect([await left('foreign_runs'), await left('reads')]).toEqual([1, 2]);
});

describe('bodies', () => {
  test('that are told again in a run are stored once, and come back byte for byte', async () => {
    const tables = await tablesWith({});
    const [started, ...rest] = runOf('once', 1);
    const observed = rest.filter((fact): fact is Extract<Fact, { kind: 'observed' }> => fact.kind === 'observed');
    const text = 'y'.repeat(10_000);
    const same = observed.map((fact) => ({ ...fact, observation: { ...fact.observation, message: text } }));
    await writeBatch(tables, readingsOf([started as Fact, ...same]));
    const [sizes] = await database.query<{ texts: string; distinct: string }>(
      `select count(*) as texts, count(distinct sha256) as distinct from traces.contents where app = 'once'`,
    );
    expect(sizes).toEqual({ texts: '6', distinct: '6' });
    const [row] = await database.query<{ parts: string; body: string | null }>(
      `select parts, body from traces.records where app = 'once' and slot = 'observed.1.0'`,
    );
    expect(row).toEqual({ parts: sha256(JSON.stringify(same[1])), body: null });
  });
});

describe('erasing a user', () => {
  const asked: Forgetting[] = [];
  const forgetElsewhere = async (what: Forgetting) => void asked.push(what);

  test('takes out every run, from the rows and the log, for good, and proves it', async () => {
    const tables = await tablesWith({});
    const facts = runOf('erase', 3);
    const others = salesRunFacts({ app: 'erase', runId: runIdAt(day(4), 'other user'), startedAt: day(4) }).map(
      (fact) => (fact.kind === 'started' ? { ...fact, user: { id: 'someone.else' } } : fact),
    );
    for (const fact of [...facts, ...others]) await publishFact(bus, fact, newTraceContext());
    await writeBatch(tables, readingsOf([...facts, ...others]));
    const id = await requestErasure(database, { app: 'erase', userId: 'lin.wei', requestedBy: 'ops' });
    expect(await requestErasure(database, { app: 'erase', userId: 'lin.wei', requestedBy: 'ops' })).toBe(id);
    await eraseUsers({ tables, bus, forgetElsewhere });
    const [row] = await readErasures(database, 'erase', id);
    expect(row).toMatchObject({ runs_erased: '1', records_erased: '17', runs_held: '0', runs_active: '0' });
    expect(JSON.parse(row?.proof ?? '')).toEqual({
      runs: 1,
      runIdsSha256: sha256(idOf(facts)),
      rowsLeft: 0,
      factsLeft: 0,
    });
    const inLog = async (runId: string) => {
      const filter = subjects.factsOfRun('erase', runId);
      const { state } = await bus.jsm.streams.info(streams.runs, { subjects_filter: filter });
      return Object.keys(state.subjects ?? {}).length;
    };
    expect([await inLog(idOf(facts)), await inLog(idOf(others))]).toEqual([0, 17]);
    expect(await writeBatch(tables, readingsOf(facts))).toEqual([]);
    expect(await count('erase')).toEqual([1, 17, 0]);
    const dump = await database.query('select * from traces.erasures');
    expect(JSON.stringify(dump)).not.toContain('lin.wei');
    expect(asked).toEqual([
      { app: 'erase', runIds: [idOf(facts)] },
      { app: 'erase', runIds: [], userId: 'lin.wei' },
    ]);
  });

  test('is not done before others have forgotten, too, and asks them again', async () => {
    const tables = await tablesWith({});
    const facts = runOf('away', 3);
    await writeBatch(tables, readingsOf(facts));
    const id = await requestErasure(database, { app: 'away', userId: 'lin.wei', requestedBy: 'ops' });
    const away = new UnavailableError('nobody answers');
    for (const isAway of [() => true, ({ userId }: Forgetting) => userId !== undefined]) {
      const erasing = eraseUsers({
        tables,
        bus,
        forgetElsewhere: async (what) => {
          if (isAway(what)) throw away;
        },
      });
      await expect(erasing).rejects.toBe(away);
      expect((await readErasures(database, 'away', id))[0]?.finished_at).toBeNull();
    }
    await eraseUsers({ tables, bus, forgetElsewhere });
    expect((await readErasures(database, 'away', id))[0]).toMatchObject({ runs_erased: '1', proof: expect.anything() });
  });

  test('waits for runs that go on and for holds to be lifted, and says so', async () => {
    const tables = await tablesWith({});
    const [held, active] = [runOf('wait', 3), runOf('wait', 4)];
    await writeBatch(tables, readingsOf([...held, ...active.slice(0, 5)]));
    const hold = await addHold(database, { app: 'wait', runId: idOf(held), userId: null, reason: 'r', by: 'ops' });
    const id = await requestErasure(database, { app: 'wait', userId: 'lin.wei', requestedBy: 'ops' });
    await eraseUsers({ tables, bus, forgetElsewhere });
    expect((await readErasures(database, 'wait', id))[0]).toMatchObject({
      finished_at: null,
      runs_erased: '0',
      runs_held: '1',
      runs_active: '1',
    });
    await liftHold(database, 'wait', hold.id);
    await writeBatch(tables, readingsOf(active));
    await eraseUsers({ tables, bus, forgetElsewhere });
    expect((await readErasures(database, 'wait', id))[0]).toMatchObject({ runs_erased: '2', runs_active: '0' });
    expect(await count('wait')).toEqual([0, 0, 0]);
  });

  test('a writer that was already under way does not bring a run back', async () => {
    const tables = await tablesWith({});
    const facts = runOf('race', 3);
    await writeBatch(tables, readingsOf(facts.slice(0, -2)));
    await writeBatch(tables, readingsOf(facts.slice(-1)));
    const id = await requestErasure(database, { app: 'race', userId: 'lin.wei', requestedBy: 'ops' });
    await Promise.all([
      eraseUsers({ tables, bus, forgetElsewhere }),
      ...Array.from({ length: 10 }, () => writeBatch(tables, readingsOf(facts))),
    ]);
    await eraseUsers({ tables, bus, forgetElsewhere });
    await writeBatch(tables, readingsOf(facts));
    expect(await count('race')).toEqual([0, 0, 0]);
    expect((await readErasures(database, 'race', id))[0]?.finished_at).not.toBeNull();
  });
});
