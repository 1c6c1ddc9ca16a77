/**
 * The slices of budgets that this replica has drawn ahead. A call whose levels all have a slice with enough is held here, without
 * asking Postgres: one busy budget doesn't bound how many calls go on, and while Postgres is away calls go on until the slices
 * are spent. What was drawn is held in Postgres, so the limit holds over all replicas (I13). When a budget gets scarce, slices
 * are called back from all replicas, so that nobody is refused for what another only has in reserve.
 *
 * Invariant: a slice is used only while its lease surely holds; a replica that Postgres has not heard of stops in time.
 */
import type { Bus } from '@pawl/bus';
import type { Log, Part } from '@pawl/service';
import type { Level } from './levels.ts';
import * as rules from './slice.ts';
import { createSliceCalls } from './slice-calls.ts';
import { createSliceKeeping, type KeptSlice } from './slice-keeping.ts';
import type { BudgetStore, CallAddress } from './store.ts';

const everyMs = 1_000;
const slicesMax = 10_000;
/** After a budget was scarce nothing of it is drawn ahead for a while. */
const scarceMs = 15_000;

export type Slices = Part & {
  /** Holds what a call needs of every level, or nothing of any. */
  take(call: CallAddress, levels: readonly Level[], needs: readonly bigint[]): boolean;
  /** What a settlement takes out of the slices of each level; undefined for a call that holds nothing here. */
  coveredOf(call: CallAddress, taken: readonly bigint[]): bigint[] | undefined;
  /** Ends what `take` began. Without `covered` everything is free again. Repeating it changes nothing. */
  settle(call: CallAddress, covered?: readonly bigint[]): void;
  /** Remembers what a call needed, so that there is a slice for the next of its kind. */
  note(levels: readonly Level[], needs: readonly bigint[]): void;
  /** Has slices of these levels given back, everywhere. Whether it makes sense to ask Postgres again. */
  callBack(levels: readonly Level[], others: readonly string[]): Promise<boolean>;
  /** Renews the leases of all slices that are in use; the others lapse. */
  renew(): Promise<void>;
};

export type SlicesOptions = {
  bus: Bus;
  store: BudgetStore;
  log: Log;
  /** The name of this process in Postgres. */
  owner: string;
  /** How many calls a slice is for, beside those under way. 0: nothing is drawn ahead. */
  callsAhead: number;
};

export function createSlices({ bus, store, log, owner, callsAhead }: SlicesOptions): Slices {
  const table = createTable();
  const keeping = createSliceKeeping({ store, log, callsAhead });
  const scarceUntil = new Map<string, number>();
  const isScarce = (key: string) => (scarceUntil.get(key) ?? 0) > performance.now();

  const giveBackHere = async (keys: readonly string[]) => {
    const until = performance.now() + scarceMs;
    for (const key of keys) remember(scarceUntil, key, until);
    const meant = table.slices().filter(({ level }) => keys.includes(level.key));
    for (const kept of meant) kept.drawNotBeforeMs = until;
    await Promise.all(meant.map(keeping.giveAllBack));
  };
  const calls = createSliceCalls({ bus, log, owner, giveBack: giveBackHere });
  const tend = (kept: KeptSlice) => {
    if (!isScarce(kept.level.key)) void keeping.tend(kept);
  };
  /** What was drawn when the limit was higher is not used under the lower one. */
  const giveBackFor = async (lower: Level, kept: KeptSlice) => {
    await keeping
      .giveAllBack(kept)
      .catch((error: unknown) => log.warn({ err: error }, 'a slice will be given back later'));
    if (kept.slice.free === 0n) kept.level = lower;
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'slices',
    start: async () => void (timer = setInterval(() => table.forgetUnused().forEach(tend), everyMs)),
    async stop() {
      clearInterval(timer);
      calls.close();
      await Promise.all(table.slices().map(keeping.giveAllBack)).catch(() => undefined);
    },
    take(call, levels, needs) {
      const held = table.take(call, levels, needs);
      for (const { kept } of held ?? []) if (rules.wishOf(kept.slice, callsAhead) > 0n) tend(kept);
      return held !== undefined;
    },
    coveredOf: table.coveredOf,
    settle: table.settle,
    note(levels, needs) {
      if (callsAhead === 0 || levels.length === 0 || !levels.every(isSliced)) return;
      for (const [position, level] of levels.entries()) {
        const kept = table.sliceOf(level);
        if (!kept) continue;
        kept.slice = rules.note(kept.slice, needs[position] ?? 0n);
        if (level.limit < kept.level.limit) void giveBackFor(level, kept);
        else tend(kept);
      }
    },
    async callBack(levels, others) {
      const keys = levels.filter((level) => isSliced(level) && !isScarce(level.key)).map(({ key }) => key);
      const isHere = table.slices().some(({ level, slice }) => keys.includes(level.key) && slice.free > 0n);
      if (keys.length === 0 || (others.length === 0 && !isHere)) return false;
      await Promise.all([giveBackHere(keys), calls.callBack(keys, others)]);
      return true;
    },
    renew: () => keeping.renew(table.slices()),
  };
}

type Open = { kept: KeptSlice; need: bigint }[];

/** The slices of this replica, and the calls that are held out of them. */
function createTable() {
  const slices = new Map<string, KeptSlice>();
  const open = new Map<string, Open>();
  return {
    slices: () => [...slices.values()],
    sliceOf(level: Level): KeptSlice | undefined {
      const key = keyOf(level);
      const known = slices.get(key);
      if (known && level.limit >= known.level.limit) known.level = level;
      if (!known && slices.size < slicesMax) slices.set(key, newSlice(level));
      return slices.get(key);
    },
    take(call: CallAddress, levels: readonly Level[], needs: readonly bigint[]): Open | undefined {
      const held = takeAll(slices, levels, needs);
      if (held) open.set(keyOfCall(call), held);
      return held;
    },
    coveredOf: (call: CallAddress, taken: readonly bigint[]) =>
      open.get(keyOfCall(call))?.map(({ need }, position) => rules.coveredBy(need, taken[position] ?? 0n)),
    settle(call: CallAddress, covered: readonly bigint[] = []): void {
      for (const [position, { kept, need }] of (open.get(keyOfCall(call)) ?? []).entries()) {
        kept.slice = rules.settle(kept.slice, { need, covered: covered[position] ?? 0n });
      }
      open.delete(keyOfCall(call));
    },
    /** Forgets the slices that nobody needs, which then lapse, and gives the others. */
    forgetUnused(): KeptSlice[] {
      for (const [key, { slice, isDead }] of slices) {
        const isUnused = slice.free === 0n && slice.used === 0n && rules.leastOf(slice) === 0n;
        if (isDead || isUnused) slices.delete(key);
      }
      return [...slices.values()];
    },
  };
}

function takeAll(slices: Map<string, KeptSlice>, levels: readonly Level[], needs: readonly bigint[]): Open | undefined {
  const now = performance.now();
  const held: (Open[0] & { after: rules.Slice })[] = [];
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
  const now = performance.now();
  const times = { usableUntilMs: 0, drawNotBeforeMs: 0, rotatedAtMs: now };
  return { level, slice: rules.emptySlice, ...times, isKnown: false, isDead: false };
}

/** Limits of runs are for one run: they stay exact, in one place. */
function isSliced({ kind }: Level): boolean {
  return kind === 'budget';
}

function keyOfCall({ runId, m }: CallAddress): string {
  return `${runId}/${m}`;
}

function keyOf({ key, window }: Level): string {
  return `${key}@${window.fromMs}`;
}

function remember(map: Map<string, number>, key: string, value: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > slicesMax && oldest !== undefined) map.delete(oldest);
}
