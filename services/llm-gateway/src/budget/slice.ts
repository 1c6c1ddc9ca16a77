/**
 * One replica's slice of one budget: money that was drawn ahead in Postgres and is given to calls without asking it. Pure.
 *
 * Invariants:
 * 1. `free` + `used` is never more than what the slice still has in Postgres, whatever was lost on the way (I13).
 * 2. What a call did not take is free again; what it took leaves the slice.
 */

export type Slice = {
  /** For calls to come. */
  readonly free: bigint;
  /** For calls under way. */
  readonly used: bigint;
  /** All that was drawn less all that was given back, as Postgres told it last. */
  readonly net: bigint;
  /** The largest need of a call and the most in use at once, in this period and the one before. */
  readonly needs: readonly [bigint, bigint];
  readonly peaks: readonly [bigint, bigint];
};

export const emptySlice: Slice = { free: 0n, used: 0n, net: 0n, needs: [0n, 0n], peaks: [0n, 0n] };

/** Notes a call's need, so that there will be enough for the next one like it. */
export function note(slice: Slice, need: bigint): Slice {
  return { ...slice, needs: [larger(slice.needs[0], need), slice.needs[1]] };
}

/** Sets aside what a call needs. Undefined when the slice has too little. */
export function take(slice: Slice, need: bigint): Slice | undefined {
  if (need > slice.free) return undefined;
  const used = slice.used + need;
  return { ...slice, free: slice.free - need, used, peaks: [larger(slice.peaks[0], used), slice.peaks[1]] };
}

/** What a settlement takes out of a slice: what the call took, and never more than was set aside for it. */
export function coveredBy(need: bigint, taken: bigint): bigint {
  return taken < 0n ? 0n : taken < need ? taken : need;
}

/** After a call: what it did not take is free again. */
export function settle(slice: Slice, of: { need: bigint; covered: bigint }): Slice {
  return { ...slice, free: slice.free + of.need - of.covered, used: slice.used - of.need };
}

/** After Postgres told what was drawn and given back in all. */
export function adopt(slice: Slice, net: bigint): Slice {
  return { ...slice, free: slice.free + net - slice.net, net };
}

/** Before some of it is given back: it is nobody's until Postgres has answered. */
export function release(slice: Slice, amount: bigint): Slice {
  return { ...slice, free: slice.free - amount, net: slice.net - amount };
}

/** Begins a new period for what is remembered of calls. */
export function rotate(slice: Slice): Slice {
  return { ...slice, needs: [0n, slice.needs[0]], peaks: [slice.used, slice.peaks[0]] };
}

/** The least that is worth drawing: what one call needs. */
export function leastOf({ needs }: Slice): bigint {
  return larger(...needs);
}

/** What the slice should have: for so many calls to come, and for as many as were under way at once. */
export function targetOf(slice: Slice, callsAhead: number): bigint {
  return BigInt(callsAhead) * leastOf(slice) + larger(...slice.peaks);
}

/** What is to be drawn now: nothing while more than half of the target is there. */
export function wishOf(slice: Slice, callsAhead: number): bigint {
  const target = targetOf(slice, callsAhead);
  return 2n * slice.free > target ? 0n : target - slice.free;
}

/** What is to be given back now: what goes beyond twice the target. */
export function surplusOf(slice: Slice, callsAhead: number): bigint {
  const target = targetOf(slice, callsAhead);
  return slice.free > 2n * target ? slice.free - target : 0n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
