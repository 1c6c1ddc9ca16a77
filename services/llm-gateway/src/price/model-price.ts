/**
 * The one price function: the same numbers make the hold before a call and the charge after it.
 * Whole nano-USD as bigint, rounded up once per call; no clock, no I/O, no floats.
 *
 * Invariants:
 * 1. For every usage within the bounds of a request, `worstCase` is at least `costOf`, over every price row (I13).
 * 2. Cached, cache-write and reasoning tokens are parts of their totals; none is billed twice.
 */
import type { Usage } from '@pawl/contracts';
import type { Rate } from './exchange-rates.ts';

/** Nano-USD per million tokens, used from `aboveInputTokens` input tokens on (exclusive). */
export type PriceTier = {
  aboveInputTokens: number;
  input: bigint;
  cachedInput: bigint;
  cacheWrite: bigint;
  output: bigint;
  reasoning: bigint;
};

export type ModelPrice = {
  /** Ascending by `aboveInputTokens`; the first starts at -1. The tier of the whole input prices the whole call. */
  tiers: readonly [PriceTier, ...PriceTier[]];
  /** Nano-USD for the call itself. */
  perRequest: bigint;
  /** Where the price is from: the route's own, or the table with its row. */
  source: string;
  /** By which it was turned into USD, once, for the hold and the charge alike. */
  rate?: Rate | undefined;
};

/** The most that a call can use. */
export type RequestBounds = { inputTokensMax: number; outputTokensMax: number };

const million = 1_000_000n;

/** What a call cost, in nano-USD. `usage` must be consistent: parts within their totals. */
export function costOf(price: ModelPrice, usage: Usage): bigint {
  const tier = tierOf(price, usage.inputTokens);
  const freshTokens = usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens;
  const spokenTokens = usage.outputTokens - usage.reasoningTokens;
  const parts =
    BigInt(freshTokens) * tier.input +
    BigInt(usage.cachedInputTokens) * tier.cachedInput +
    BigInt(usage.cacheWriteTokens) * tier.cacheWrite +
    BigInt(spokenTokens) * tier.output +
    BigInt(usage.reasoningTokens) * tier.reasoning;
  return roundUp(parts) + price.perRequest;
}

/** The most that any usage within `bounds` can cost, in nano-USD. */
export function worstCase(price: ModelPrice, bounds: RequestBounds): bigint {
  const costs = price.tiers.map((tier, position) => {
    if (tier.aboveInputTokens >= bounds.inputTokensMax && position > 0) return 0n;
    const next = price.tiers[position + 1];
    const inputTokens = Math.min(bounds.inputTokensMax, next?.aboveInputTokens ?? Number.MAX_SAFE_INTEGER);
    const dearestInput = largest(tier.input, tier.cachedInput, tier.cacheWrite);
    const dearestOutput = largest(tier.output, tier.reasoning);
    return roundUp(BigInt(inputTokens) * dearestInput + BigInt(bounds.outputTokensMax) * dearestOutput);
  });
  return largest(...costs) + price.perRequest;
}

/** The most output tokens, up to `bounds.outputTokensMax`, whose worst case is within `leftNanoUsd`; -1 when not even 0 fit. */
export function outputTokensWithin(price: ModelPrice, bounds: RequestBounds, leftNanoUsd: bigint): number {
  const fits = (outputTokensMax: number) => worstCase(price, { ...bounds, outputTokensMax }) <= leftNanoUsd;
  return fits(0) ? largestWithin(bounds.outputTokensMax, fits) : -1;
}

/** The largest number up to `max` that fits, where 0 does and every number below one that fits does, too. */
export function largestWithin(max: number, fits: (count: number) => boolean): number {
  let low = 0;
  let high = max;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A price as it is kept with a charge. */
export function priceRecord(price: ModelPrice): object {
  const tiers = price.tiers.map(({ aboveInputTokens, ...nanoUsdPerMillion }) => ({
    aboveInputTokens,
    ...Object.fromEntries(Object.entries(nanoUsdPerMillion).map(([name, nano]) => [name, nano.toString()])),
  }));
  return { source: price.source, perRequest: price.perRequest.toString(), tiers };
}

function tierOf(price: ModelPrice, inputTokens: number): PriceTier {
  return price.tiers.findLast((tier) => inputTokens > tier.aboveInputTokens) ?? price.tiers[0];
}

function roundUp(nanoTimesMillion: bigint): bigint {
  return (nanoTimesMillion + million - 1n) / million;
}

function largest(...values: bigint[]): bigint {
  return values.reduce((most, value) => (value > most ? value : most), 0n);
}
