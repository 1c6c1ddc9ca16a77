import { expect, test } from 'vitest';
import { eventually } from './eventually.ts';

/** A probe that gives these one after the other, as what comes over a wire may. */
function giving(...values: unknown[]) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no type holds over a wire
  return () => (values.length > 1 ? values.shift() : values[0]) as object | undefined;
}

test.for([null, undefined, false, 0, '', Number.NaN])('%s is no answer yet', async (empty) => {
  const done = {};
  expect(await eventually(giving(empty, empty, done))).toBe(done);
  await expect(eventually(giving(empty), { withinMs: 0, what: 'it is there' })).rejects.toThrow('it is there');
});

test('what a probe throws is the cause when it never comes true', async () => {
  const failure = new Error('not there');
  const probe = () => Promise.reject<object>(failure);
  await expect(eventually(probe, { withinMs: 0 })).rejects.toMatchObject({ cause: failure });
});

test('a probe that may give what is empty is refused by its type', async () => {
  const found: { text: string | null; count: number } = { text: 'a', count: 1 };
  const refused = [
    // @ts-expect-error -- null
    () => eventually(() => found.text),
    // @ts-expect-error -- null behind a promise
    () => eventually(async () => await Promise.resolve(found as typeof found | null)),
    // @ts-expect-error -- a number may be 0
    () => eventually(() => found.count),
  ];
  expect(refused).toHaveLength(3);
  expect(await eventually(() => found.count === 1 && found)).toBe(found);
});
