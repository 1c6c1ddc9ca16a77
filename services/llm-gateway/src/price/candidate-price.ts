/** The price of a route's candidate: its own where it names one, else the table's. An explicit 0 is a price. */
import { parseNano, type Candidate, type Price } from '@pawl/contracts';
import type { ModelPrice } from './model-price.ts';
import { findTablePrice } from './table-price.ts';

export type PriceFinding =
  | { price: ModelPrice }
  | { problem: { code: 'model_price_unknown' | 'not_supported'; message: string } };

/**
 * The price of `candidate` at a time, or why there is none. Deterministic for a given table. `isInputOnly`: for calls that have
 * no output, such as embeddings, whose rows name no price for it.
 */
export function findPrice(candidate: Candidate, at: Date, isInputOnly = false): PriceFinding {
  if (candidate.price) return knownOwnPrice(candidate.price);
  const price = findTablePrice(candidate, at, isInputOnly);
  if (price) return { price };
  const message =
    `There is no known price for model "${candidate.model}" of provider "${candidate.provider}". ` +
    'Give the candidate a price in its ModelRoute; an explicit "0" is allowed.';
  return { problem: { code: 'model_price_unknown', message } };
}

const known = new WeakMap<Price, PriceFinding>();

function knownOwnPrice(own: Price): PriceFinding {
  const finding = known.get(own) ?? findOwnPrice(own);
  known.set(own, finding);
  return finding;
}

function findOwnPrice(own: Price): PriceFinding {
  if (own.currency !== 'USD') {
    const message = `Prices in ${own.currency} are not supported yet; give the price in USD.`;
    return { problem: { code: 'not_supported', message } };
  }
  const input = parseNano(own.inputPerMillion);
  const output = parseNano(own.outputPerMillion);
  const tier = {
    aboveInputTokens: -1,
    input,
    output,
    cachedInput: own.cachedInputPerMillion === undefined ? input : parseNano(own.cachedInputPerMillion),
    cacheWrite: own.cacheWritePerMillion === undefined ? input : parseNano(own.cacheWritePerMillion),
    reasoning: own.reasoningPerMillion === undefined ? output : parseNano(own.reasoningPerMillion),
  };
  return { price: { tiers: [tier], perRequest: 0n, source: 'route' } };
}
