import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerGauges } from './gauges.ts';

function createGauges() {
  const registry = new Registry();
  const state = { looks: 0, seen: new Error('away') as Error | Record<string, number> };
  registerGauges({
    registry,
    look() {
      state.looks += 1;
      if (state.seen instanceof Error) throw state.seen;
      return state.seen;
    },
    gauges: {
      things: {
        help: 'Things by kind',
        labelNames: ['kind'],
        valuesOf: (seen) => Object.entries(seen).map(([kind, value]) => ({ labels: { kind }, value })),
      },
      kinds: { help: 'Kinds', valuesOf: (seen) => [{ value: Object.keys(seen).length }] },
    },
  });
  const scrape = async () => (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'));
  return { state, scrape };
}

test('gauges that belong together come from one look', async () => {
  const { state, scrape } = createGauges();
  state.seen = { a: 1, b: 2 };
  expect(await scrape()).toEqual(['things{kind="a"} 1', 'things{kind="b"} 2', 'kinds 2']);
  expect(state.looks).toBe(1);
});

test('what is gone is told no more, and while the look fails there is nothing to take for new', async () => {
  const { state, scrape } = createGauges();
  expect(await scrape()).toEqual([]);
  state.seen = { a: 1 };
  expect(await scrape()).toEqual(['things{kind="a"} 1', 'kinds 1']);
  state.seen = { b: 0 };
  expect(await scrape()).toEqual(['things{kind="b"} 0', 'kinds 1']);
  state.seen = new Error('away again');
  expect(await scrape()).toEqual([]);
});
