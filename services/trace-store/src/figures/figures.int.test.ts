/** What the figures by hour promise, on a real Postgres: whatever happened in whatever order, they are what a fresh count gives. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import fc from 'fast-check';
import { slotOf, type Fact } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { noRules } from '@pawl/redaction';
import { useTestServers } from '@pawl/testkit';
import { createSpanReceiver } from '../otlp/receive-spans.ts';
import { readFactMessage } from '../record/fact-message.ts';
import { createPolicy } from '../retention/policy.ts';
import { keepAndDrop } from '../retention/retention.ts';
import { schema } from '../schema.ts';
import { readAggregates, type AggregateFilter } from '../store/aggregates.ts';
import { markErased, removeRun, requestErasure } from '../store/erasures.ts';
import { readKnown } from '../store/figures.ts';
import { storeMessages, type ReadMessage } from '../store/store-messages.ts';
import { createTraceTables, type TraceTables } from '../store/trace-tables.ts';
import { agentSpans } from '../testing/agent-spans.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { hourMs } from './coverage.ts';
import { keepFigures } from './keep-figures.ts';
import { summarizeCalls, summarizeRuns } from './summarize.ts';

const servers = useTestServers();
const thisHourMs = Math.floor(Date.now() / hourMs) * hourMs;
let database: Database;
let tables: TraceTables;

const tablesWith = (keptDays: Record<string, number>) =>
  createTraceTables({ database, policy: createPolicy({ database, keptDays: new Map(Object.entries(keptDays)) }) });

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 4 });
  tables = tablesWith({});
});
afterAll(() => database.close());

const figureTables = ['run_figures', 'tool_figures', 'figure_ranges', 'figures_outdated'];
beforeEach(async () => {
  for (const table of figureTables) await database.query(`truncate traces.${table}`);
});

/** A run that began so many hours ago. */
function runOf(app: string, seed: string, hoursAgo: number): Fact[] {
  const startedAt = new Date(thisHourMs - hoursAgo * hourMs + 60_000).toISOString();
  return salesRunFacts({ app, runId: runIdAt(startedAt, seed), startedAt });
}

function messagesOf(facts: readonly Fact[]): ReadMessage[] {
  return facts.map((fact, at) => {
    const subject = `pawl.run.0.${fact.app}.${fact.runId}.${slotOf(fact)}`;
    const message = { subject, sequence: at + 1, data: new TextEncoder().encode(JSON.stringify(fact)) };
    return { message, reading: readFactMessage(message, () => noRules) };
  });
}

const rangeOf = (hours: number) => ({
  from: new Date(thisHourMs - hours * hourMs + 1_234_567).toISOString(),
  to: new Date(thisHourMs + hourMs).toISOString(),
});

async function figuresOf(filter: Omit<AggregateFilter, 'bucket' | 'from' | 'to'>, hours = 24 * 60): Promise<object> {
  const told = await readAggregates(database, { ...filter, ...rangeOf(hours), bucket: 'hour' });
  return { runs: summarizeRuns(told.runs), calls: summarizeCalls(told.calls) };
}

/** What is counted now, and what the tables of figures add to it: the same. */
async function expectAsCounted(app: string): Promise<void> {
  const filters = [
    { app },
    { app, agent: 'sales-analyst' },
    { app, source: 'otlp' },
    { app, agent: 'x', source: 'pawl' },
  ];
  const kept = await Promise.all(filters.map((filter) => figuresOf(filter)));
  const rows = await database.query('delete from traces.figure_ranges where app = $1 returning *', [app]);
  expect(rows).toHaveLength(1);
  expect(kept).toEqual(await Promise.all(filters.map((filter) => figuresOf(filter))));
}

test('T3: any order, repetition and batches of facts, counted in between or not, give the figures of a fresh count', async () => {
  // None of them begins or ceases to be counted when an hour passes meanwhile.
  const hours = [1, 5, 5, 6, 30, 24 * 40];
  const factsOf = (app: string) => hours.flatMap((hoursAgo, number) => runOf(app, `run ${number}`, hoursAgo));
  const total = factsOf('x').length;
  const orders = fc.sample(
    fc.record({
      order: fc.shuffledSubarray([...Array(total).keys(), ...Array(total).keys()], { minLength: total * 2 }),
      sizes: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 250, maxLength: 250 }),
      isCounted: fc.array(fc.boolean(), { minLength: 250, maxLength: 250 }),
    }),
    8,
  );
  const texts: string[] = [];
  for (const [number, { order, sizes, isCounted }] of orders.entries()) {
    const app = `order-${number}`;
    const messages = messagesOf(factsOf(app));
    for (let from = 0, turn = 0; from < order.length; from += sizes[turn++] ?? 1) {
      const batch = order.slice(from, from + (sizes[turn] ?? 1)).map((at) => messages[at]);
      await storeMessages(
        tables,
        batch.filter((message) => message !== undefined),
      );
      if (isCounted[turn]) await keepFigures(database, { forMs: Infinity });
    }
    await keepFigures(database, { forMs: Infinity });
    const { counted, outdatedMs } = await readKnown(database, { app, ...rangeOf(24 * 60) });
    expect(counted?.toMs).toBeGreaterThanOrEqual(thisHourMs - 3 * hourMs);
    expect(outdatedMs).toEqual([]);
    const rows = await database.query<{ row: string }>(
      `select (to_jsonb(figures) - 'app')::text as row from traces.run_figures as figures where app = $1
       union all select (to_jsonb(figures) - 'app')::text from traces.tool_figures as figures where app = $1 order by 1`,
      [app],
    );
    texts.push(rows.map(({ row }) => row).join('\n'));
    await expectAsCounted(app);
  }
  expect(texts[0]?.split('\n').length).toBeGreaterThan(10);
  expect(new Set(texts).size).toBe(1);
});

test('T3: hours that are counted while two writers change them are counted again', async () => {
  const app = 'busy';
  const runs = Array.from({ length: 60 }, (_, number) => messagesOf(runOf(app, `busy ${number}`, 4 + (number % 4))));
  const write = async (order: ReadMessage[][]) => {
    for (let from = 0; from < 17; from += 2) {
      await storeMessages(
        tables,
        order.flatMap((messages) => messages.slice(from, from + 2)),
      );
    }
  };
  const writing = Promise.all([write(runs), write(runs.toReversed())]).then(() => true);
  let isWritten = false;
  void writing.then(() => (isWritten = true));
  while (!isWritten) await keepFigures(database, { forMs: Infinity });
  await writing;
  await keepFigures(database, { forMs: Infinity });
  expect(await figuresOf({ app })).toMatchObject({ runs: Array.from({ length: 4 }, () => ({ runs: 15, ended: 15 })) });
  await expectAsCounted(app);
});

test('what is not counted yet, what is outdated and the edges of a range are counted when they are asked for', async () => {
  const app = 'edges';
  const last = runOf(app, 'late', 50);
  await storeMessages(tables, messagesOf([...runOf(app, 'one', 1), ...runOf(app, 'two', 50), ...last.slice(0, -1)]));
  await keepFigures(database, { forMs: Infinity });
  await storeMessages(tables, messagesOf(last).slice(-1));
  expect((await readKnown(database, { app, ...rangeOf(60) })).outdatedMs).toEqual([thisHourMs - 50 * hourMs]);
  expect(await figuresOf({ app })).toMatchObject({
    runs: [
      { runs: 2, ended: 2 },
      { runs: 1, ended: 1 },
    ],
  });
  await expectAsCounted(app);
});

test('spans that repeat others, a root that comes late, an erased run and a dropped week leave the figures of what is there', async () => {
  const app = 'spans';
  const receiver = createSpanReceiver({ tables, onStored() {} });
  const startNano = BigInt(thisHourMs - 20 * hourMs) * 1_000_000n;
  const traceId = 'ab'.repeat(16);
  const [root, ...rest] = agentSpans('genai', traceId, startNano);
  const again = rest.map((span) => ({ ...span, spanId: `ff${span.spanId.slice(2)}`, parentSpanId: span.spanId }));
  const receive = (spans: typeof rest) => receiver.receive(app, { spans, rejected: 0, reason: null });
  await receive([...again, ...rest]);
  await keepFigures(database, { forMs: Infinity });
  if (root) await receive([{ ...root, startNano: startNano - 6n * 3_600_000_000_000n }]);
  await keepFigures(database, { forMs: Infinity });
  expect(await figuresOf({ app })).toMatchObject({
    runs: [{ at: new Date(thisHourMs - 26 * hourMs), runs: 1, tokens: 330 }],
    calls: [{ tool: 'count_orders', calls: 1 }],
  });
  const erased = runOf(app, 'erased', 30);
  const old = runOf(app, 'old', 24 * 45);
  await storeMessages(tables, messagesOf([...erased, ...old]));
  await keepFigures(database, { forMs: Infinity });
  const runId = erased[0]?.runId ?? '';
  const id = await requestErasure(database, { app, userId: 'lin.wei', requestedBy: 'test' });
  await markErased(database, { app, runId }, id);
  await removeRun(database, { app, runId }, id);
  await keepAndDrop(tablesWith({ standard: 30 }));
  const runs = [{ at: new Date(thisHourMs - 26 * hourMs), runs: 1 }];
  expect(await figuresOf({ app })).toMatchObject({ runs });
  await keepFigures(database, { forMs: Infinity });
  expect(await figuresOf({ app })).toMatchObject({ runs });
  await expectAsCounted(app);
});
