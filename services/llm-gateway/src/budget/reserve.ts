/**
 * What calls leave for the call that closes their run (G6), and how long that one may be. Pure.
 *
 * Invariant: while a run's calls keep its reserve free, a closing call within the reserve fits on every level of the run. On
 * budgets that several runs share, each keeps its own free; what others take meanwhile may be the one that was kept.
 */
import { worstCase, largestWithin, type ModelPrice, type RequestBounds } from '../price/model-price.ts';
import { fromUsd } from '../price/exchange-rates.ts';
import type { KeptBack, Level } from './levels.ts';
import type { Left } from './requirement.ts';

/** The closing call that a run can still make. */
export type ClosingCall = {
  /** Its levels; those of the call before it, with other limits. */
  levels: readonly Level[];
  /** Of every endpoint that may get it. */
  prices: readonly ModelPrice[];
  outputTokensMax: number;
};

const inputTokensEver = 100_000_000;

/** What a closing call may need at the worst, wherever it goes. Without a known price nothing: it could not be made at all. */
export function keptBackFor(prices: readonly ModelPrice[], bounds: RequestBounds): KeptBack {
  if (prices.length === 0) return { 'nano-usd': 0n, tokens: 0n };
  return { 'nano-usd': dearest(prices, bounds), tokens: BigInt(bounds.inputTokensMax + bounds.outputTokensMax) };
}

/** Input tokens that the closing call may have, given what a call before it has found left; 0 where it can't be made. */
export function closingTokensOf({ levels, prices, outputTokensMax }: ClosingCall, lefts: readonly Left[]): number {
  const fits = (inputTokensMax: number) =>
    levels.every((level, position) => {
      const found = lefts[position];
      const left = found ? found.left + level.limit - found.level.limit : 0n;
      if (level.unit === 'nano-usd') {
        return fromUsd(dearest(prices, { inputTokensMax, outputTokensMax }), level.rate) <= left;
      }
      return level.unit === 'tokens' ? BigInt(inputTokensMax + outputTokensMax) <= left : left >= 1n;
    });
  return prices.length > 0 && fits(0) ? largestWithin(inputTokensEver, fits) : 0;
}

function dearest(prices: readonly ModelPrice[], bounds: RequestBounds): bigint {
  return prices.reduce((most, price) => {
    const cost = worstCase(price, bounds);
    return cost > most ? cost : most;
  }, 0n);
}
