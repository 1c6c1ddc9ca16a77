/** The slices of this replica, and the calls that are held out of them. No I/O. */
import type { LedgerEntry } from '../ledger/entry.ts';
import type { Level } from './levels.ts';
import * as rules from './slice.ts';
import type { KeptSlice } from './slice-keeping.ts';
import type { CallAddress } from './store.ts';

const slicesMax = 10_000;

export type SlicedHolding = {
  levels: readonly Level[];
  needs: readonly bigint[];
  /** What the books will say if this process dies before it settles the call. */
  line(): LedgerEntry;
};

/** A call under way. */
export type OpenCall = {
  call: CallAddress;
  held: readonly { kept: KeptSlice; need: bigint }[];
  line(): LedgerEntry;
  /** Monotonic. */
  startedAtMs: number;
  isSettling: boolean;
  /** Set once its line is kept in Postgres, or is on its way there. */
  kept?: Promise<void> | undefined;
};

export type SliceTable = {
  slices(): KeptSlice[];
  sliceOf(level: Level): KeptSlice | undefined;
  /** Holds what a call needs of every level, or nothing of any. What it held before is replaced. */
  take(call: CallAddress, holding: SlicedHolding): OpenCall | undefined;
  find(call: CallAddress): OpenCall | undefined;
  settle(call: CallAddress, covered?: readonly bigint[]): KeptSlice[];
  /** Calls that began before a moment and whose line is not kept. */
  unkept(startedBeforeMs: number): OpenCall[];
  /** Forgets the slices that nobody needs, which then lapse, and gives the others. */
  forgetUnused(): KeptSlice[];
};

export function createSliceTable(): SliceTable {
  const slices = new Map<string, KeptSlice>();
  const open = new Map<string, OpenCall>();
  const settle: SliceTable['settle'] = (call, covered = []) => {
    const held = open.get(keyOfCall(call))?.held ?? [];
    for (const [position, { kept, need }] of held.entries()) {
      kept.slice = rules.settle(kept.slice, { need, covered: covered[position] ?? 0n });
    }
    open.delete(keyOfCall(call));
    return held.map(({ kept }) => kept);
  };
  return {
    slices: () => [...slices.values()],
    sliceOf(level) {
      const key = keyOf(level);
      const known = slices.get(key);
      if (known && level.limit >= known.level.limit) known.level = level;
      if (!known && slices.size < slicesMax) slices.set(key, newSlice(level));
      return slices.get(key);
    },
    take(call, { levels, needs, line }) {
      const before = open.get(keyOfCall(call))?.kept;
      settle(call);
      const held = takeAll(slices, levels, needs);
      if (!held) return undefined;
      const made = { call, held, line, startedAtMs: performance.now(), isSettling: false, kept: before };
      open.set(keyOfCall(call), made);
      return made;
    },
    find: (call) => open.get(keyOfCall(call)),
    settle,
    unkept: (startedBeforeMs) =>
      [...open.values()].filter(
        ({ startedAtMs, kept, isSettling }) => startedAtMs < startedBeforeMs && !kept && !isSettling,
      ),
    forgetUnused() {
      for (const [key, { slice, isDead }] of slices) {
        const isUnused = slice.free === 0n && slice.used === 0n && rules.leastOf(slice) === 0n;
        if (isDead || isUnused) slices.delete(key);
      }
      return [...slices.values()];
    },
  };
}

function takeAll(
  slices: Map<string, KeptSlice>,
  levels: readonly Level[],
  needs: readonly bigint[],
): OpenCall['held'] | undefined {
  const now = performance.now();
  const held: (OpenCall['held'][0] & { after: rules.Slice })[] = [];
  for (const [position, level] of levels.entries()) {
    const kept = slices.get(keyOf(level));
    const need = needs[position] ?? 0n;
    // A limit that was lowered is looked at in Postgres.
    const isUsable = kept && !kept.isDead && kept.usableUntilMs > now && level.limit >= kept.level.limit;
    const after = isUsable ? rules.take(rules.note(kept.slice, need), need) : undefined;
    if (!kept || !after) return undefined;
    held.push({ kept, need, after });
  }
  for (const { kept, after } of held) kept.slice = after;
  return held;
}

function newSlice(level: Level): KeptSlice {
  const times = { usableUntilMs: 0, drawNotBeforeMs: 0, rotatedAtMs: performance.now() };
  return { level, slice: rules.emptySlice, ...times, isKnown: false, isDead: false };
}

function keyOfCall({ runId, m }: CallAddress): string {
  return `${runId}/${m}`;
}

function keyOf({ key, window }: Level): string {
  return `${key}@${window.fromMs}`;
}
