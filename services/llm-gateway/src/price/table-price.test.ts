import { calcPrice } from '@pydantic/genai-prices';
import { describe, expect, it } from 'vitest';
import { findPrice } from './candidate-price.ts';
import { exchangeRatesSchema } from './exchange-rates.ts';
import { costOf } from './model-price.ts';
import { findTablePrice, priceOfRow } from './table-price.ts';

const at = new Date('2026-11-30T00:00:00Z');

describe('prices from the table', () => {
  it('are exact where the float of the table is not', () => {
    expect(priceOfRow({ input_mtok: 0.19999999999999998, output_mtok: 0.3 }, 'x')?.tiers[0]).toMatchObject({
      input: 200_000_000n,
      output: 300_000_000n,
    });
  });

  it('agree with the package on what calls cost', () => {
    const of = { provider: 'openai', model: 'gpt-4o' };
    const price = findTablePrice(of, at);
    const theirs = calcPrice({ input_tokens: 10_000, cache_read_tokens: 4_000, output_tokens: 1_000 }, of.model, {
      providerId: of.provider,
      timestamp: at,
    });
    const usage = {
      inputTokens: 10_000,
      cachedInputTokens: 4_000,
      cacheWriteTokens: 0,
      outputTokens: 1_000,
      reasoningTokens: 0,
    };
    expect(price && Number(costOf(price, usage)) / 1e9).toBeCloseTo(theirs?.total_price ?? -1, 9);
  });

  it('follow the date', () => {
    const of = { provider: 'anthropic', model: 'claude-sonnet-4-6' };
    expect(findTablePrice(of, new Date('2026-03-01T00:00:00Z'))?.tiers).toHaveLength(2);
    expect(findTablePrice(of, at)?.tiers).toHaveLength(1);
  });

  it('are unknown for unknown providers and for rows with meters that have no bound', () => {
    expect(findTablePrice({ provider: 'nobody', model: 'gpt-4o' }, at)).toBeUndefined();
    expect(findTablePrice({ provider: 'openai', model: 'no-such-model' }, at)).toBeUndefined();
    expect(priceOfRow({ input_mtok: 1, output_mtok: 1, output_citation_mtok: 2 }, 'x')).toBeUndefined();
    expect(priceOfRow({ input_mtok: 1 }, 'x')).toBeUndefined();
    expect(priceOfRow({}, 'x')).toBeUndefined();
  });

  it('bill requests too where the row does', () => {
    const price = priceOfRow({ input_mtok: 1, output_mtok: 1, requests_kcount: 12 }, 'x');
    const usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    expect(price && costOf(price, usage)).toBe(12_000_000n);
  });
});

describe("a candidate's own price", () => {
  const candidate = { provider: 'openai', model: 'gpt-4o' };
  const rates = exchangeRatesSchema.parse('BRL=0.18@2026-11-01,BRL=0.2@2026-11-20');
  const pricing = { atMs: at.getTime(), rates };

  it('wins over the table, and fills what it leaves out from the plain rates', () => {
    const finding = findPrice(
      { ...candidate, price: { currency: 'USD', inputPerMillion: '3', outputPerMillion: '0.000000001' } },
      pricing,
    );
    expect(finding).toMatchObject({
      price: {
        tiers: [{ input: 3_000_000_000n, cachedInput: 3_000_000_000n, output: 1n, reasoning: 1n }],
        source: 'route',
      },
    });
  });

  it('counts in another currency by the rate of the day, rounded up', () => {
    const price = { currency: 'BRL', inputPerMillion: '3', outputPerMillion: '0.000000001' };
    const find = (day: string) => findPrice({ ...candidate, price }, { ...pricing, atMs: Date.parse(day) });
    expect(find('2026-11-15')).toMatchObject({
      price: {
        tiers: [{ input: 540_000_000n, cachedInput: 540_000_000n, output: 1n, reasoning: 1n }],
        rate: { currency: 'BRL', since: '2026-11-01' },
      },
    });
    expect(find('2026-11-25')).toMatchObject({ price: { tiers: [{ input: 600_000_000n }] } });
    expect(find('2026-11-15')).toMatchObject({ price: { tiers: [{ input: 540_000_000n }] } });
    expect(find('2026-10-31')).toMatchObject({
      problem: { code: 'model_price_unknown', message: expect.stringContaining('no exchange rate') },
    });
  });

  it('that is missing is told with the way out', () => {
    const unknown = findPrice({ provider: 'openai', model: 'unknown-model' }, pricing);
    expect(unknown).toMatchObject({
      problem: { code: 'model_price_unknown', message: expect.stringContaining('ModelRoute') },
    });
  });
});
