import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exchangeRatesSchema, fromUsd, priceInUsd, rateRecord, toUsd, type Rate } from './exchange-rates.ts';

const rates = exchangeRatesSchema.parse('EUR=1.08@2026-11-01, EUR=1.25@2026-12-01,CNY=0.14@2026-11-01');

describe('exchange rates', () => {
  it('hold from their day on, until the next one', () => {
    const at = (time: string) => rates.at('EUR', Date.parse(time))?.nanoUsdPerUnit;
    expect(at('2026-10-31T23:59:59.999Z')).toBeUndefined();
    expect(at('2026-11-01T00:00:00Z')).toBe(1_080_000_000n);
    expect(at('2026-11-30T23:59:59.999Z')).toBe(1_080_000_000n);
    expect(at('2026-12-01T00:00:00Z')).toBe(1_250_000_000n);
    expect(rates.at('BRL', Date.parse('2026-12-01T00:00:00Z'))).toBeUndefined();
  });

  it('are refused when they make no sense', () => {
    for (const text of [
      'EUR=0@2026-11-01',
      'EUR=1.08',
      'eur=1.08@2026-11-01',
      'EUR=1,08@2026-11-01',
      'EUR=1@2026-13-01',
    ]) {
      expect(exchangeRatesSchema.safeParse(text).success, text).toBe(false);
    }
    expect(exchangeRatesSchema.parse('').at('EUR', Date.now())).toBeUndefined();
  });

  it('are kept with what was counted by them', () => {
    const rate = rates.at('EUR', Date.parse('2026-12-24T00:00:00Z'));
    expect(rateRecord([undefined, rate])).toEqual({ EUR: { usdPerUnit: '1.25', since: '2026-12-01' } });
    expect(rateRecord([undefined])).toBeNull();
  });

  it('round so that nothing more is ever spent', () => {
    const amount = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    fc.assert(
      fc.property(amount, amount, fc.bigInt({ min: 1n, max: 10n ** 13n }), (usd, left, nanoUsdPerUnit) => {
        const rate: Rate = { currency: 'EUR', nanoUsdPerUnit, since: '2026-11-01' };
        // What fits into what is left of the budget, in USD, fits into it in its own currency.
        expect(usd > toUsd(left, rate) || fromUsd(usd, rate) <= left).toBe(true);
        expect(fromUsd(usd, rate) * nanoUsdPerUnit >= usd * 1_000_000_000n).toBe(true);
        expect(fromUsd(usd + 1n, rate) >= fromUsd(usd, rate)).toBe(true);
        const price = usd < 0n ? -usd : usd;
        expect(priceInUsd(price, rate) * 1_000_000_000n >= price * nanoUsdPerUnit).toBe(true);
      }),
    );
  });
});
