import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { routeObject } from '../testing/gateway-bench.ts';
import type { ModelBench } from '../testing/model-bench.ts';
import { answerWith } from '../testing/model-server.ts';
import { ask, openOpenAiBench, usage, type OpenAiBench } from '../testing/openai-bench.ts';
import { cacheHitNote } from './cached-call.ts';

const servers = useTestServers();
let openAi: OpenAiBench;
let bench: ModelBench;
let client: OpenAI;

beforeAll(async () => {
  openAi = await openOpenAiBench(servers);
  ({ bench, client } = openAi);
  await bench.put(routeObject('kept', { baseUrl: bench.model.baseUrl }, { cache: { ttl: '1h' } }));
});
afterAll(() => bench.close());

it('gives the same answer to the same request, free of charge, and marks it', async () => {
  bench.respond = answerWith('Kept.', usage);
  const request = { ...ask, model: 'kept', temperature: 0 };
  const first = await client.chat.completions.create(request);
  const seen = bench.model.seen.length;
  const { data: again, response } = await client.chat.completions.create(request).withResponse();
  expect(response.headers.get('x-pawl-cache')).toBe('hit');
  expect(again).toMatchObject({ choices: first.choices, usage: first.usage });
  expect(again.id).not.toBe(first.id);
  const streamed = await client.chat.completions.stream(request).finalChatCompletion();
  expect(streamed.choices[0]?.message.content).toBe('Kept.');
  expect(bench.model.seen.length).toBe(seen);
  expect(await openAi.ledger()).toMatchObject([
    { cost_nano_usd: '0', note: cacheHitNote, is_final: false },
    { cost_nano_usd: '0', note: cacheHitNote },
    { cost_nano_usd: '45000', note: null },
  ]);
  await client.chat.completions.create({ ...request, temperature: 0.5 });
  await client.chat.completions.create(request, { headers: { 'x-pawl-user': 'eve' } });
  expect(bench.model.seen.length).toBe(seen + 2);
});

it('forgets an answer when its time is over', async () => {
  bench.respond = answerWith('New.', usage);
  await bench.database.query(`update gateway.cached_answers set expires_at = now() - interval '1 second'`);
  const completion = await client.chat.completions.create({ ...ask, model: 'kept', temperature: 0 });
  expect(completion.choices[0]?.message.content).toBe('New.');
});
