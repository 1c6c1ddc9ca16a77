import fc from 'fast-check';
import { waitForUpdate } from '@pydantic/genai-prices';
import { describe, expect, it } from 'vitest';
import { formatNano, type Usage } from '@pawl/contracts';
import { findPrice } from './candidate-price.ts';
import { costOf, outputTokensWithin, worstCase, type ModelPrice, type RequestBounds } from './model-price.ts';
import { priceOfRow } from './table-price.ts';

const flat = (prices: Partial<ModelPrice['tiers'][0]>): ModelPrice => {
  const rest = { cachedInput: 0n, cacheWrite: 0n, input: 0n, output: 0n, reasoning: 0n };
  return { tiers: [{ aboveInputTokens: -1, ...rest, ...prices }], perRequest: 0n, source: 'test' };
};
const usage = (parts: Partial<Usage>): Usage => ({
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  ...parts,
});

/** Any usage within bounds, its parts within its totals, with the interesting edges likely. */
const usageWithin = (bounds: RequestBounds): fc.Arbitrary<Usage> =>
  fc
    .record({
      inputTokens: fc.oneof(fc.constant(bounds.inputTokensMax), fc.integer({ min: 0, max: bounds.inputTokensMax })),
      outputTokens: fc.oneof(fc.constant(bounds.outputTokensMax), fc.integer({ min: 0, max: bounds.outputTokensMax })),
      cached: fc.double({ min: 0, max: 1, noNaN: true }),
      written: fc.double({ min: 0, max: 1, noNaN: true }),
      reasoning: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ inputTokens, outputTokens, cached, written, reasoning }) => {
      const cachedInputTokens = Math.round(inputTokens * cached);
      const cacheWriteTokens = Math.round((inputTokens - cachedInputTokens) * written);
      return {
        inputTokens,
        outputTokens,
        cachedInputTokens,
        cacheWriteTokens,
        reasoningTokens: Math.round(outputTokens * reasoning),
      };
    });

const boundsArbitrary = fc.record({
  inputTokensMax: fc.oneof(
    fc.integer({ min: 0, max: 2_000_000 }),
    fc.constantFrom(128_000, 200_000, 200_001, 272_000, 512_001),
  ),
  outputTokensMax: fc.integer({ min: 0, max: 200_000 }),
});

async function everyRow(): Promise<{ name: string; price: ModelPrice }[]> {
  const providers = (await waitForUpdate()) ?? [];
  return providers.flatMap((provider) =>
    provider.models.flatMap((model) =>
      (Array.isArray(model.prices) ? model.prices.map(({ prices }) => prices) : [model.prices]).flatMap((row) => {
        const price = priceOfRow(row, 'table');
        return price ? [{ name: `${provider.id}/${model.id}`, price }] : [];
      }),
    ),
  );
}

describe('the price of a call', () => {
  it('M5: bills parts once: cached tokens are in the input, reasoning is in the output', () => {
    const price = flat({ input: 1_000_000n, cachedInput: 100_000n, output: 2_000_000n, reasoning: 2_000_000n });
    const billed = usage({ inputTokens: 13_675, cachedInputTokens: 9_216, outputTokens: 1_970, reasoningTokens: 956 });
    expect(costOf(price, billed)).toBe(4_459n + 922n + 2n * 1_970n);
  });

  it('rounds a fraction of a nano-dollar up, once', () => {
    const price = flat({ input: 1n, output: 1n });
    expect(costOf(price, usage({ inputTokens: 1, outputTokens: 1 }))).toBe(1n);
    expect(costOf(price, usage({}))).toBe(0n);
  });

  it('takes the tier of the whole input for the whole call', () => {
    const base = flat({ input: 1_000_000n, output: 1_000_000n }).tiers[0];
    const price: ModelPrice = {
      ...flat({}),
      tiers: [base, { ...base, aboveInputTokens: 200_000, input: 2_000_000n, output: 3_000_000n }],
    };
    expect(costOf(price, usage({ inputTokens: 200_000, outputTokens: 1 }))).toBe(200_001n);
    expect(costOf(price, usage({ inputTokens: 200_001, outputTokens: 1 }))).toBe(400_005n);
  });

  it('M3: is never above the worst case, for every row of the table and every usage within the bounds', async () => {
    const rows = await everyRow();
    expect(rows.length).toBeGreaterThan(1_000);
    const bounded = boundsArbitrary.chain((bounds) => usageWithin(bounds).map((within) => ({ bounds, within })));
    fc.assert(
      fc.property(fc.constantFrom(...rows), bounded, ({ price }, { bounds, within }) => {
        expect(worstCase(price, bounds) >= costOf(price, within)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    for (const { name, price } of rows.filter(({ price: { tiers } }) => tiers.length > 1)) {
      const run = ({ bounds, within }: { bounds: RequestBounds; within: Usage }) => {
        expect(worstCase(price, bounds) >= costOf(price, within), name).toBe(true);
      };
      fc.assert(fc.property(bounded, run), { numRuns: 50 });
    }
  });

  it('M3: is never above the worst case with any tiers, also when a higher tier is cheaper', () => {
    const nano = fc.bigInt({ min: 0n, max: 10_000_000_000n });
    const rates = fc.record({ input: nano, cachedInput: nano, cacheWrite: nano, output: nano, reasoning: nano });
    const starts = fc.uniqueArray(fc.integer({ min: 0, max: 300_000 }), { maxLength: 4 });
    const tiered = fc
      .tuple(rates, starts, fc.array(rates, { minLength: 4, maxLength: 4 }))
      .map(([first, later, more]): ModelPrice => {
        const next = later
          .toSorted((a, b) => a - b)
          .map((above, at) => ({ aboveInputTokens: above, ...(more[at] ?? first) }));
        return { tiers: [{ aboveInputTokens: -1, ...first }, ...next], perRequest: 7n, source: 'test' };
      });
    const bounded = boundsArbitrary.chain((bounds) => usageWithin(bounds).map((within) => ({ bounds, within })));
    fc.assert(
      fc.property(tiered, bounded, (price, { bounds, within }) => worstCase(price, bounds) >= costOf(price, within)),
      { numRuns: 3_000 },
    );
  });
});

describe("a route's own price", () => {
  it('M3: in any currency, at any rate, is never above the worst case, and never below what it is', () => {
    const decimal = fc.bigInt({ min: 0n, max: 10n ** 12n }).map(formatNano);
    const own = fc.record({
      currency: fc.constant('EUR'),
      inputPerMillion: decimal,
      outputPerMillion: decimal,
      cachedInputPerMillion: decimal,
      cacheWritePerMillion: decimal,
      reasoningPerMillion: decimal,
    });
    const rated = fc.bigInt({ min: 1n, max: 10n ** 13n });
    const bounded = boundsArbitrary.chain((bounds) => usageWithin(bounds).map((within) => ({ bounds, within })));
    fc.assert(
      fc.property(own, rated, bounded, (price, nanoUsdPerUnit, { bounds, within }) => {
        const rates = { at: () => ({ currency: 'EUR', nanoUsdPerUnit, since: '2026-11-01' }) };
        const candidate = { provider: 'openai', model: 'm' };
        const found = findPrice({ ...candidate, price }, { atMs: 0, rates });
        const asIfUsd = findPrice({ ...candidate, price: { ...price, currency: 'USD' } }, { atMs: 0, rates });
        if (!('price' in found) || !('price' in asIfUsd)) throw new TypeError('no price');
        const cost = costOf(found.price, within);
        expect(worstCase(found.price, bounds) >= cost).toBe(true);
        // Rounded up once more, to whole nano units of the other currency.
        const exact = (costOf(asIfUsd.price, within) - 1n) * nanoUsdPerUnit;
        expect(cost * 1_000_000_000n >= exact).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the output that fits', () => {
  it('is the most whose worst case is within what is left', () => {
    const price = flat({ input: 1_000_000n, output: 4_000_000n });
    const bounds = { inputTokensMax: 1_000, outputTokensMax: 10_000 };
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 60_000n }), (left) => {
        const fits = outputTokensWithin(price, bounds, left);
        const costAt = (outputTokensMax: number) => worstCase(price, { ...bounds, outputTokensMax });
        expect(fits < 0 || costAt(fits) <= left).toBe(true);
        expect(fits === bounds.outputTokensMax || costAt(fits + 1) > left).toBe(true);
      }),
    );
    expect(outputTokensWithin(price, bounds, 999n)).toBe(-1);
  });
});
