/** How much of each level a call needs at the worst, and what of it fits. Pure. */
import type { Usage } from '@pawl/contracts';
import { costOf, outputTokensWithin, worstCase, type ModelPrice, type RequestBounds } from '../price/model-price.ts';
import { fromUsd, toUsd } from '../price/exchange-rates.ts';
import type { Level } from './levels.ts';

/** What a call with these bounds needs of each level, in the levels' order and units. */
export function needsOf(levels: readonly Level[], price: ModelPrice, bounds: RequestBounds): bigint[] {
  const needs = {
    'nano-usd': worstCase(price, bounds),
    tokens: BigInt(bounds.inputTokensMax + bounds.outputTokensMax),
    calls: 1n,
    concurrent: 1n,
  };
  return levels.map((level) => inUnitOf(level, needs));
}

/** What a call took from each level. A call that never reached a model takes nothing. */
export function takenOf(levels: readonly Level[], price: ModelPrice, usage: Usage): bigint[] {
  const taken = {
    'nano-usd': costOf(price, usage),
    tokens: BigInt(usage.inputTokens + usage.outputTokens),
    calls: 1n,
    concurrent: 0n,
  };
  return levels.map((level) => inUnitOf(level, taken));
}

function inUnitOf({ unit, rate }: Level, amounts: Record<Level['unit'], bigint>): bigint {
  return unit === 'nano-usd' ? fromUsd(amounts[unit], rate) : amounts[unit];
}

export type Left = { level: Level; left: bigint };

/** A request's bounds with the fewest output tokens that are worth a call, on shared budgets and on limits of runs. */
export type Wanted = RequestBounds & { outputTokensMin: { budget: number; run: number } };

/** Output tokens that a run's own limit has to leave for a reply. */
const runOutputTokensMin = 64;

/**
 * The least that is worth a call that wants so many output tokens. A run's own limit may cut a reply down to 64 tokens. A
 * shared budget must have room for more than half of it: near its end it refuses rather than hand out many stumps of answers.
 */
export function leastOutput(outputTokensMax: number): Wanted['outputTokensMin'] {
  const run = Math.min(runOutputTokensMin, outputTokensMax);
  return { run, budget: Math.min(outputTokensMax, Math.max(run, Math.floor(outputTokensMax / 2) + 1)) };
}

/**
 * Output tokens, up to `wanted.outputTokensMax`, that fit into what is left on every level; or the position of the first level
 * that has too little.
 */
export function fitOutput(
  lefts: readonly Left[],
  price: ModelPrice,
  bounds: Wanted,
): { outputTokensMax: number } | { blockedBy: number; outputTokensMin: number } {
  const wanted = bounds.outputTokensMax;
  const minOf = ({ level }: Left) => bounds.outputTokensMin[level.kind];
  const fits = lefts.map((left) => fitOf(left, price, bounds));
  const blockedBy = lefts.findIndex((left, position) => (fits[position] ?? -1) < minOf(left));
  const blocking = lefts[blockedBy];
  if (blocking) return { blockedBy, outputTokensMin: minOf(blocking) };
  return { outputTokensMax: Math.min(wanted, ...fits) };
}

function fitOf({ level, left }: Left, price: ModelPrice, bounds: RequestBounds): number {
  switch (level.unit) {
    case 'nano-usd':
      return outputTokensWithin(price, bounds, toUsd(left, level.rate));
    case 'tokens': {
      const fits = left - BigInt(bounds.inputTokensMax);
      if (fits < 0n) return -1;
      return fits > BigInt(bounds.outputTokensMax) ? bounds.outputTokensMax : Number(fits);
    }
    case 'calls':
    case 'concurrent':
      return left >= 1n ? bounds.outputTokensMax : -1;
  }
}
