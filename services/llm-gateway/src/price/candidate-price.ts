/**
 * The price of a route's candidate in USD: its own where it names one, else the table's. An explicit 0 is a price. One in another
 * currency counts by the rate of the day on which the call is admitted.
 */
import { parseNano, type Candidate, type Price } from '@pawl/contracts';
import { priceInUsd, type ExchangeRates, type Rate } from './exchange-rates.ts';
import type { ModelPrice } from './model-price.ts';
import { findTablePrice } from './table-price.ts';

export type PriceFinding = { price: ModelPrice } | { problem: { code: 'model_price_unknown'; message: string } };

export type Pricing = {
  atMs: number;
  rates: ExchangeRates;
  /** For calls that have no output, such as embeddings, whose rows in the table name no price for it. */
  isInputOnly?: boolean;
};

/** The price of `candidate` at a time, or why there is none. Deterministic for given rates and a given table. */
export function findPrice(candidate: Candidate, { atMs, rates, isInputOnly }: Pricing): PriceFinding {
  if (candidate.price) return findOwnPrice(candidate.price, { atMs, rates });
  const price = findTablePrice(candidate, new Date(atMs), isInputOnly);
  if (price) return { price };
  const message =
    `There is no known price for model "${candidate.model}" of provider "${candidate.provider}". ` +
    'Give the candidate a price in its ModelRoute; an explicit "0" is allowed.';
  return { problem: { code: 'model_price_unknown', message } };
}

const known = new WeakMap<Price, ModelPrice>();

function findOwnPrice(own: Price, { atMs, rates }: Pricing): PriceFinding {
  const rate = own.currency === 'USD' ? undefined : rates.at(own.currency, atMs);
  if (own.currency !== 'USD' && !rate) {
    const message =
      `The price is in ${own.currency}, for which there is no exchange rate; ` +
      'PAWL_EXCHANGE_RATES can tell it, or the candidate of the ModelRoute a price in USD.';
    return { problem: { code: 'model_price_unknown', message } };
  }
  const before = known.get(own);
  const price = before && before.rate === rate ? before : ownPriceOf(own, rate);
  known.set(own, price);
  return { price };
}

function ownPriceOf(own: Price, rate: Rate | undefined): ModelPrice {
  const inUsd = (amount: string) => priceInUsd(parseNano(amount), rate);
  const input = inUsd(own.inputPerMillion);
  const output = inUsd(own.outputPerMillion);
  const tier = {
    aboveInputTokens: -1,
    input,
    output,
    cachedInput: own.cachedInputPerMillion === undefined ? input : inUsd(own.cachedInputPerMillion),
    cacheWrite: own.cacheWritePerMillion === undefined ? input : inUsd(own.cacheWritePerMillion),
    reasoning: own.reasoningPerMillion === undefined ? output : inUsd(own.reasoningPerMillion),
  };
  return { tiers: [tier], perRequest: 0n, source: 'route', rate };
}
