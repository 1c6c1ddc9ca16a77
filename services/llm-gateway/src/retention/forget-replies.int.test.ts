/** What models said leaves the gateway after its time, and nothing is asked or paid twice for it. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { routeObject, thinkWork, type Gateway } from '../testing/gateway-bench.ts';
import { answerWith } from '../testing/model-server.ts';
import { ask, openOpenAiBench, usage, type OpenAiBench } from '../testing/openai-bench.ts';

const servers = useTestServers();
const secret = 'The customer lives in Rua das Flores.';
let openAi: OpenAiBench;
let forgetting: Gateway;

beforeAll(async () => {
  openAi = await openOpenAiBench(servers);
  const { bench } = openAi;
  await bench.put(routeObject('kept', { baseUrl: bench.model.baseUrl }, { cache: { ttl: '1h' } }));
  bench.respond = answerWith(secret, usage);
});
afterAll(async () => {
  await forgetting?.stop();
  await openAi?.bench.close();
});

const isStored = async () => {
  const { database } = openAi.bench;
  const [row] = await database.query<{ count: string }>(
    `select (select count(*) from gateway.replies where thought like '%Rua das Flores%')
          + (select count(*) from gateway.cached_answers where answer like '%Rua das Flores%') as count`,
  );
  return Number(row?.count);
};

it('takes away what is older than it is kept, step by step, and nothing else', async () => {
  const { bench, client } = openAi;
  const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
  const work = thinkWork();
  await client.chat.completions.create(ask, { headers });
  await client.chat.completions.create({ ...ask, model: 'kept', temperature: 0 });
  await bench.thinkAbout(work);
  expect(await isStored()).toBe(3);
  await bench.database.query(`update gateway.replies set at = now() - interval '8 days'`);
  await bench.database.query(`update gateway.cached_answers set expires_at = now() - interval '1 second'`);
  await bench.database.query(
    `insert into gateway.replies select 'run_old_' || i, 0, $1, now() - interval '9 days' from generate_series(1, 1100) as i`,
    [secret],
  );
  await bench.database.query(`insert into gateway.replies values ('run_new', 0, $1, now() - interval '6 days')`, [
    secret,
  ]);
  const lines = await bench.database.query('select * from gateway.ledger order by call_id');

  forgetting = await bench.startGateway({ PAWL_FORGETTING_MS: '100' });
  await eventually(async () => (await isStored()) === 1, { what: 'all but the new reply are forgotten' });
  const kept = await bench.database.query<{ run_id: string }>(
    `select run_id from gateway.replies where thought <> '' order by run_id`,
  );
  expect(kept).toEqual([{ run_id: 'run_new' }]);
  expect(await bench.database.query('select * from gateway.ledger order by call_id')).toEqual(lines);

  const seen = bench.model.seen.length;
  await expect(client.chat.completions.create(ask, { headers, maxRetries: 0 })).rejects.toMatchObject({
    status: 409,
    code: 'conflict',
    message: expect.stringContaining('no longer kept'),
  });
  expect(bench.model.seen.length).toBe(seen);
  expect(await bench.database.query('select * from gateway.ledger order by call_id')).toEqual(lines);
});

it('work whose reply is forgotten and whose thought is lost fails in words, without asking a model again', async () => {
  const { bench } = openAi;
  const work = thinkWork();
  await bench.database.query(`insert into gateway.replies values ($1, $2, '', now() - interval '9 days')`, [
    work.runId,
    work.m,
  ]);
  const seen = bench.model.seen.length;
  expect(await bench.thinkAbout(work)).toMatchObject({
    outcome: 'failed',
    error: { code: 'not_found', message: 'The reply of this call is no longer kept.' },
  });
  expect(bench.model.seen.length).toBe(seen);
});
