/**
 * Dated exchange rates, for prices and budgets in other currencies than USD. Pure.
 *
 * Invariant: what a call needs or took is rounded up and what is left is rounded down, so that no rounding ever spends more.
 */
import { currencySchema, decimalSchema, formatNano, parseNano } from '@pawl/contracts';
import { z } from 'zod';

/** What one unit of a currency is worth, from a day on (UTC). */
export type Rate = { currency: string; nanoUsdPerUnit: bigint; since: string };

export type ExchangeRates = {
  /** The rate that holds at a time; undefined when none was told for then. */
  at(currency: string, atMs: number): Rate | undefined;
};

const nano = 1_000_000_000n;

const entrySchema = z
  .string()
  .transform((text) => /^([^=@]*)=([^=@]*)@([^=@]*)$/.exec(text.trim())?.slice(1) ?? [])
  .pipe(z.tuple([currencySchema, decimalSchema, z.iso.date()], 'must look like EUR=1.08@2026-11-01'))
  .transform(([currency, usd, since]): Rate => ({ currency, nanoUsdPerUnit: parseNano(usd), since }))
  .refine(({ nanoUsdPerUnit }) => nanoUsdPerUnit > 0n, 'a rate must be above 0');

function createExchangeRates(rates: readonly Rate[]): ExchangeRates {
  const newestFirst = rates.toSorted((a, b) => (a.since < b.since ? 1 : -1));
  return {
    at: (currency, atMs) => {
      const day = new Date(atMs).toISOString().slice(0, 10);
      return newestFirst.find((rate) => rate.currency === currency && rate.since <= day);
    },
  };
}

/** Reads `EUR=1.08@2026-11-01,CNY=0.14@2026-11-01`: USD for one unit, and the day from which that holds. */
export const exchangeRatesSchema = z
  .string()
  .transform((text) => (text.trim() === '' ? [] : text.split(',')))
  .pipe(z.array(entrySchema).max(10_000))
  .transform(createExchangeRates);

/** Nano-USD in nano units of the rate's currency, rounded up. Without a rate it is USD. */
export function fromUsd(nanoUsd: bigint, rate: Rate | undefined): bigint {
  if (!rate) return nanoUsd;
  const scaled = nanoUsd * nano;
  const down = scaled / rate.nanoUsdPerUnit;
  return scaled > 0n && down * rate.nanoUsdPerUnit < scaled ? down + 1n : down;
}

/** A price in nano units of the rate's currency in nano-USD, rounded up. Without a rate it is USD. */
export function priceInUsd(amount: bigint, rate: Rate | undefined): bigint {
  return rate ? (amount * rate.nanoUsdPerUnit + nano - 1n) / nano : amount;
}

/** Nano units of the rate's currency in nano-USD, rounded down. */
export function toUsd(amount: bigint, rate: Rate | undefined): bigint {
  if (!rate) return amount;
  const scaled = amount * rate.nanoUsdPerUnit;
  const towardsZero = scaled / nano;
  return scaled < 0n && towardsZero * nano > scaled ? towardsZero - 1n : towardsZero;
}

/** Rates as they are kept with a charge, by currency; null where everything was USD. */
export function rateRecord(
  rates: readonly (Rate | undefined)[],
): Record<string, { usdPerUnit: string; since: string }> | null {
  const used = rates.filter((rate) => rate !== undefined);
  if (used.length === 0) return null;
  return Object.fromEntries(
    used.map(({ currency, nanoUsdPerUnit, since }) => [currency, { usdPerUnit: formatNano(nanoUsdPerUnit), since }]),
  );
}
