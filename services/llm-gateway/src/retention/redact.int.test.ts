/** What an app wants taken out is not stored here either: not for an idempotency key, not in the cache. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tellRedactionRules } from '@pawl/bus';
import { eventually, useTestServers } from '@pawl/testkit';
import { app, routeObject } from '../testing/gateway-bench.ts';
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

/** What two calls with the same key were answered with. */
async function askTwice(answer: string): Promise<(string | null | undefined)[]> {
  const { bench, client } = openAi;
  bench.respond = answerWith(answer, usage);
  const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
  const answers = [
    await client.chat.completions.create(ask, { headers }),
    await client.chat.completions.create(ask, { headers }),
  ];
  return answers.map(({ choices }) => choices[0]?.message.content);
}

async function storedTexts(): Promise<string> {
  const rows = await openAi.bench.database.query<{ text: string }>(
    'select thought as text from gateway.replies union all select answer from gateway.cached_answers',
  );
  return rows.map(({ text }) => text).join('\n');
}

it('secrets always, and what the app names as soon as it has said so', async () => {
  const { bench } = openAi;
  expect(await askTwice('Write to ana@example.com with key sk-test-abcdef123456.')).toEqual([
    'Write to ana@example.com with key sk-test-abcdef123456.',
    'Write to ana@example.com with key [redacted].',
  ]);
  await tellRedactionRules(bench.bus, app, JSON.stringify({ personal: ['email'], patterns: ['ORD-[0-9]+'] }));
  await tellRedactionRules(bench.bus, 'other', JSON.stringify({ patterns: ['.'] }));
  await eventually(async () => (await askTwice('To bea@example.com.'))[1] === 'To [redacted].');
  expect(await askTwice('Order ORD-77 of bob@example.com is late.')).toEqual([
    'Order ORD-77 of bob@example.com is late.',
    'Order [redacted] of [redacted] is late.',
  ]);
  const stored = await storedTexts();
  for (const secret of ['sk-test-abcdef123456', 'ORD-77', 'bob@example.com']) expect(stored).not.toContain(secret);
});

it('an answer that holds such things is not cached: the next client gets it whole, from the model', async () => {
  const { bench, client } = openAi;
  const request = { ...ask, model: 'kept', temperature: 0 };
  const seen = bench.model.seen.length;
  bench.respond = answerWith('Ask cy@example.com.', usage);
  for (const _ of [1, 2]) {
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0]?.message.content).toBe('Ask cy@example.com.');
  }
  expect(bench.model.seen.length).toBe(seen + 2);
  bench.respond = answerWith('Ask the owner.', usage);
  for (const _ of [1, 2]) await client.chat.completions.create(request);
  expect(bench.model.seen.length).toBe(seen + 3);
  expect(await storedTexts()).not.toContain('cy@example.com');
});
