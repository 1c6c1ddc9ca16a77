import { afterAll, expect, test } from 'vitest';
import { toolOf } from '../testing/runner-bench.ts';
import { createHeavyWork } from './heavy-work.ts';

const heavy = createHeavyWork();
afterAll(() => heavy.close());

const spec = toolOf('get', { http: { method: 'GET', url: 'http://tools.example/' } }).spec;
const answer = (rows: number) => {
  const list = Array.from({ length: rows }, (_unused, id) => ({ id, name: `customer ${id}`, amount: id * 1.5 }));
  const bytes = Buffer.from(JSON.stringify(list, undefined, 2));
  return { status: 200, contentType: 'application/json', retryAfter: undefined, body: { bytes } };
};

test('R17: a result of 8 MB is read, checked and cut while others go on', async () => {
  const large = answer(100_000);
  const turns: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    turns.push(performance.now() - last);
    last = performance.now();
  }, 5);
  const outcome = await heavy.run('outcomeOfAnswer', large.body.bytes.length, large);
  if (outcome.kind !== 'result') throw new Error(outcome.kind);
  const { observation, whole } = await heavy.run('observationOf', outcome.data.length, outcome, {
    spec,
    maxChars: 2_000,
  });
  clearInterval(timer);
  expect(whole).toHaveLength(outcome.data.length);
  expect(observation.truncated).toBe(true);
  // The loop turned again and again, instead of once at the end.
  expect(turns.length).toBeGreaterThan(5);
});

test('short and long results come out the same', async () => {
  for (const rows of [10, 10_000]) {
    const given = answer(rows);
    const [here, there] = await Promise.all([0, 1e9].map((size) => heavy.run('outcomeOfAnswer', size, given)));
    expect(there).toEqual(here);
  }
});

test('what the function throws is thrown, and the thread goes on', async () => {
  const broken = undefined as unknown as ReturnType<typeof answer>;
  await expect(heavy.run('outcomeOfAnswer', 1e9, broken)).rejects.toThrow(TypeError);
  expect(await heavy.run('outcomeOfAnswer', 1e9, answer(1))).toMatchObject({ kind: 'result' });
});

test('a thread that is gone is started again', async () => {
  const lost = heavy.run('outcomeOfAnswer', 1e9, answer(100_000));
  await heavy.close();
  await expect(lost).rejects.toThrow('has ended');
  expect(await heavy.run('outcomeOfAnswer', 1e9, answer(1))).toMatchObject({ kind: 'result' });
});
