import { expect, test } from 'vitest';
import { workThrough } from './batches.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 0; number < count; number++) yield number;
}

test('so many items are worked on at once, and all are done at the end', async () => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const done: number[] = [];
  const all = workThrough(numbers(5), {
    atOnceMax: 2,
    async work(item) {
      begun.push(item);
      await gates[item]?.promise;
      done.push(item);
    },
  });
  await expect.poll(() => begun).toEqual([0, 1]);
  gates[1]?.resolve();
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await all;
  expect(new Set(done)).toEqual(new Set([0, 1, 2, 3, 4]));
});

test('when one fails, no other is begun, and those under way are waited for', async () => {
  const gate = Promise.withResolvers<void>();
  const begun: number[] = [];
  const done: number[] = [];
  const all = workThrough(numbers(5), {
    atOnceMax: 2,
    async work(item) {
      begun.push(item);
      if (item === 1) throw new TypeError('refused');
      await gate.promise;
      done.push(item);
    },
  });
  const failure = all.catch((error: unknown) => error);
  await expect.poll(() => begun).toEqual([0, 1]);
  gate.resolve();
  expect(await failure).toEqual(new TypeError('refused'));
  expect([begun, done]).toEqual([[0, 1], [0]]);
});
