/** What models said for a user who is erased leaves the gateway, whatever it was said in; what was said for others stays. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { askToForget } from '@pawl/bus';
import { UnavailableError } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import { app, routeObject, thinkWork } from '../testing/gateway-bench.ts';
import { answerWith } from '../testing/model-server.ts';
import { ask, openOpenAiBench, usage, type OpenAiBench } from '../testing/openai-bench.ts';

const servers = useTestServers();
let openAi: OpenAiBench;

beforeAll(async () => {
  openAi = await openOpenAiBench(servers);
  const { bench } = openAi;
  await bench.put(routeObject('kept', { baseUrl: bench.model.baseUrl }, { cache: { ttl: '1h' } }));
});
afterAll(() => openAi?.bench.close());

/** Says something for a user in every way that leaves something behind; the run that was told so. */
async function speakFor(user: string): Promise<string> {
  const { bench, client } = openAi;
  bench.respond = answerWith(`Said to ${user}.`, usage);
  const work = thinkWork({ user: { id: user } });
  await bench.thinkAbout(work);
  const as = { 'x-pawl-user': user };
  await client.chat.completions.create(ask, { headers: { ...as, 'idempotency-key': `own-${user}` } });
  const ofRun = { 'x-pawl-run': work.runId, 'idempotency-key': `run-${user}` };
  await client.chat.completions.create(ask, { headers: ofRun });
  const cached = { ...ask, model: 'kept', temperature: 0 };
  await client.chat.completions.create(cached, { headers: as });
  await client.chat.completions.create({ ...cached, seed: 1 }, { headers: { ...as, 'x-pawl-run': work.runId } });
  return work.runId;
}

async function storedFor(user: string): Promise<{ replies: number; answers: number }> {
  const [row] = await openAi.bench.database.query<{ replies: number; answers: number }>(
    `select (select count(*)::integer from gateway.replies where position($1 in thought) > 0) as replies,
            (select count(*)::integer from gateway.cached_answers where position($1 in answer) > 0) as answers`,
    [`Said to ${user}.`],
  );
  return row ?? { replies: -1, answers: -1 };
}

const allOf = { replies: 3, answers: 2 };

it('with each run first, then with all else of the user; once more changes nothing', async () => {
  const { bench, client } = openAi;
  const [lin, ana] = [await speakFor('lin'), await speakFor('ana')];
  expect([await storedFor('lin'), await storedFor('ana')]).toEqual([allOf, allOf]);
  const lines = await bench.database.query('select * from gateway.ledger order by call_id');

  await askToForget(bench.bus, 'llm-gateway', { app: 'other', runIds: [], userId: 'lin' });
  expect(await storedFor('lin')).toEqual(allOf);
  await askToForget(bench.bus, 'llm-gateway', { app, runIds: [lin] });
  expect(await storedFor('lin')).toEqual({ replies: 1, answers: 1 });
  for (const _ of [1, 2]) {
    await askToForget(bench.bus, 'llm-gateway', { app, runIds: [], userId: 'lin' });
    expect([await storedFor('lin'), await storedFor('ana')]).toEqual([{ replies: 0, answers: 0 }, allOf]);
  }
  expect(await bench.database.query('select * from gateway.ledger order by call_id')).toEqual(lines);
  expect(ana).not.toBe(lin);

  const seen = bench.model.seen.length;
  const again = client.chat.completions.create(ask, {
    headers: { 'x-pawl-user': 'lin', 'idempotency-key': 'own-lin' },
    maxRetries: 0,
  });
  await expect(again).rejects.toMatchObject({ status: 409, code: 'conflict' });
  expect(bench.model.seen.length).toBe(seen);
});

it('who asks is told when it could not be done', async () => {
  const { bench } = openAi;
  await bench.database.query('alter table gateway.replies rename to gone');
  const asked = askToForget(bench.bus, 'llm-gateway', { app, runIds: [], userId: 'ana' });
  await expect(asked).rejects.toBeInstanceOf(UnavailableError);
  await bench.database.query('alter table gateway.gone rename to replies');
});
