/** What a run's next call is likely to need is set aside after each thought, so that the call needn't wait for Postgres. */
import { randomUUID } from 'node:crypto';
import { publishWork } from '@pawl/bus';
import type { Thought, ThinkWork } from '@pawl/contracts';
import type { Queryable } from '@pawl/db';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { budgetObject, thinkWork, thoughtOf, type Gateway } from '../testing/gateway-bench.ts';
import { modelKey, openModelBench, type ModelBench } from '../testing/model-bench.ts';
import { answerWith, chunk, openStream, sendEvent, usageChunk, type Respond } from '../testing/model-server.ts';

const servers = useTestServers();
const environment = { PAWL_SECRET_MODEL_KEY: modelKey, PAWL_SLICE_CALLS: '8' };
let bench: ModelBench;
let other: Gateway;

// Whichever of the two thinks, either may make the next call.
beforeAll(async () => {
  bench = await openModelBench(servers, environment);
  other = await bench.startGateway(environment);
});
afterAll(async () => {
  await other.stop();
  await bench.close();
});

const askForTool: Respond = (response) => {
  openStream(response);
  sendEvent(response, chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }] }));
  sendEvent(response, chunk({}, 'tool_calls'));
  sendEvent(response, usageChunk({ prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }));
  sendEvent(response, '[DONE]');
  response.end();
};

const isHeldAhead = async ({ runId }: ThinkWork) => {
  const rows = await bench.database.query(`select from gateway.holds where run_id = $1 and owner = 'ahead'`, [runId]);
  return rows.length === 1;
};

/** A run whose first thought asks for a tool, and the work of its next call, for which money is held ahead. */
async function afterFirstThought(changes: Partial<ThinkWork> = {}): Promise<ThinkWork> {
  bench.respond = askForTool;
  const work = thinkWork();
  await bench.thinkAbout(work);
  await eventually(() => isHeldAhead(work));
  return { ...work, m: 1, ...changes };
}

/** Holds up every hold in Postgres until `body` is done. */
const whileHoldsWait = (body: (client: Queryable) => Promise<void>) =>
  bench.database.transaction(async (client) => {
    await client.query('lock table gateway.replies in access exclusive mode');
    await body(client);
  });

it('the model is asked while Postgres is still busy holding for the call, and the call is in the books as any other', async () => {
  const next = await afterFirstThought();
  bench.respond = answerWith('It is line C.', { prompt_tokens: 40, completion_tokens: 5 });
  const seen = bench.model.seen.length;
  await whileHoldsWait(async () => {
    await publishWork(bench.bus, next, newTraceContext());
    await eventually(() => bench.model.seen.length > seen);
  });
  expect(await thoughtOf(bench.bus, next)).toMatchObject({ text: 'It is line C.', costNanoUsd: '45000' });
  expect(await bench.ledgerOf(next.runId)).toHaveLength(2);
  expect(await bench.countersOf(`run/${next.runId}`)).toEqual({ held: '0', spent: '63000' });
});

it('a call that needs more than was held ahead waits for Postgres', async () => {
  const next = await afterFirstThought({ maxOutputTokens: 50_000 });
  bench.respond = answerWith('Long.', { prompt_tokens: 1, completion_tokens: 1 });
  const seen = bench.model.seen.length;
  await whileHoldsWait(async (client) => {
    await publishWork(bench.bus, next, newTraceContext());
    const waiting = `select from pg_locks where relation = 'gateway.replies'::regclass and not granted`;
    await eventually(async () => (await client.query(waiting)).length > 0);
    expect(bench.model.seen.length).toBe(seen);
  });
  expect(await thoughtOf(bench.bus, next)).toMatchObject({ text: 'Long.' });
});

/** A reply that doesn't end. */
const keepTalking: Respond = (response) => {
  openStream(response);
  sendEvent(response, chunk({ content: 'Another answer, ' }));
};

it('I13: a call whose money is gone all the same is broken off, its cost is in the books, and it is held for as any other', async () => {
  const next = await afterFirstThought();
  const aborted = bench.model.aborted;
  const seen = bench.model.seen.length;
  bench.respond = keepTalking;
  await whileHoldsWait(async (client) => {
    await publishWork(bench.bus, next, newTraceContext());
    await eventually(() => bench.model.seen.length > seen);
    const values = [`run/${next.runId}`, next.runSpendLimitNanoUsd];
    await client.query('update gateway.counters set spent = $2 where key = $1', values);
  });
  expect(await thoughtOf(bench.bus, next)).toMatchObject({ outcome: 'failed', error: { code: 'budget_exceeded' } });
  expect(bench.model.aborted).toBe(aborted + 1);
  expect(bench.model.seen.length).toBe(seen + 1);
  const lines = await bench.ledgerOf(next.runId);
  expect(lines.map((line) => [line['m'], line['stop_kind']])).toContainEqual([1, 'abandoned']);
});

it('a call that turns out to be settled already is broken off, told as it was settled, and its cost is in the books', async () => {
  const next = await afterFirstThought();
  const aborted = bench.model.aborted;
  const seen = bench.model.seen.length;
  bench.respond = keepTalking;
  const first = (await thoughtOf(bench.bus, { ...next, m: 0 })) satisfies Thought;
  const settled = { ...first, m: 1, text: 'What was answered then.', calls: [] };
  await whileHoldsWait(async (client) => {
    await publishWork(bench.bus, next, newTraceContext());
    await eventually(() => bench.model.seen.length > seen);
    const values = [next.runId, 1, JSON.stringify(settled)];
    await client.query('insert into gateway.replies (run_id, m, thought) values ($1, $2, $3)', values);
  });
  expect(await thoughtOf(bench.bus, next)).toMatchObject({ text: 'What was answered then.' });
  await eventually(() => bench.model.aborted === aborted + 1);
  const lines = await bench.ledgerOf(next.runId);
  expect(lines.map((line) => [line['m'], line['stop_kind'], line['is_final']])).toEqual([
    [0, 'complete', true],
    [1, 'abandoned', false],
  ]);
});

it('what was held ahead lapses when the call does not come', async () => {
  const next = await afterFirstThought();
  await eventually(async () => (await bench.countersOf(`run/${next.runId}`))?.held === '0', { withinMs: 30_000 });
  expect(await isHeldAhead(next)).toBe(false);
}, 40_000);

it('who would be refused gets what was held ahead for others when it has lapsed', async () => {
  const agent = `agent-${randomUUID()}`;
  // Enough for eight calls like the first, or for more than half of one long one, unless something is held ahead.
  const limit = { amount: '0.080000000', currency: 'USD' };
  await bench.put(budgetObject(`ahead-${agent.slice(-12)}`, { scope: { app: 'demo', agent }, limit }));
  bench.respond = askForTool;
  const short = thinkWork({ agent });
  await bench.thinkAbout(short);
  await eventually(() => isHeldAhead(short));
  bench.respond = answerWith('All of it.', { prompt_tokens: 1, completion_tokens: 1 });
  const thought = await bench.thinkAbout(thinkWork({ agent, maxOutputTokens: 150_000 }));
  expect(thought).toMatchObject({ outcome: 'reply', text: 'All of it.' });
  expect(bench.model.seen.at(-1)?.body['max_tokens']).toBeGreaterThan(75_000);
}, 40_000);

it.each([
  ['an eighth of what is left of a budget', '0.070000000', '400000000'],
  ['half of what is left of a run', '1.00', '18000000'],
])('no more than %s is held ahead', async (_part, amount, runSpendLimitNanoUsd) => {
  const agent = `agent-${randomUUID()}`;
  const limit = { amount, currency: 'USD' };
  await bench.put(budgetObject(`ahead-${agent.slice(-12)}`, { scope: { app: 'demo', agent }, limit }));
  bench.respond = askForTool;
  const scarce = thinkWork({ agent, runSpendLimitNanoUsd });
  await bench.thinkAbout(scarce);
  await afterFirstThought();
  expect(await isHeldAhead(scarce)).toBe(false);
  expect(await bench.countersOf(`run/${scarce.runId}`)).toMatchObject({ held: '0' });
});
