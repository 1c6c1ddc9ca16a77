/**
 * The slices of budgets that this replica has drawn ahead. A call whose levels all have a slice with enough is held here, without
 * asking Postgres: one busy budget doesn't bound how many calls go on, and while Postgres is away calls go on until the slices
 * are spent. What was drawn is held in Postgres, so the limit holds over all replicas (I13). When a budget gets scarce, slices
 * are called back from all replicas, so that nobody is refused for what another only has in reserve.
 *
 * Invariant: a slice is used only while its lease surely holds; a replica that Postgres has not heard of stops in time.
 */
import type { Bus } from '@pawl/bus';
import { UnavailableError } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import type { Level } from './levels.ts';
import * as rules from './slice.ts';
import { createSliceCalls } from './slice-calls.ts';
import { createSliceKeeping, type KeptSlice, type SliceKeeping } from './slice-keeping.ts';
import { createSliceTable, type OpenCall, type SlicedHolding, type SliceTable } from './slice-table.ts';
import type { BudgetStore, CallAddress } from './store.ts';

const everyMs = 1_000;
const slicesMax = 10_000;
/** After a budget was scarce nothing of it is drawn ahead for a while. */
const scarceMs = 15_000;

export type Slices = Part & {
  /** Holds what a call needs of every level, or nothing of any. What it held here before is replaced. */
  take(call: CallAddress, holding: SlicedHolding): boolean;
  /** Before a settlement: what it takes out of the slices of each level; undefined for a call that holds nothing here. */
  beginSettling(call: CallAddress, taken: readonly bigint[]): Promise<SlicedSettlement | undefined>;
  /** Ends what `take` began. Without `covered` everything is free again. Repeating it changes nothing. */
  settle(call: CallAddress, covered?: readonly bigint[]): void;
  /** Remembers what a call needed, so that there is a slice for the next of its kind. */
  note(levels: readonly Level[], needs: readonly bigint[]): void;
  /** Has slices of these levels given back, everywhere. Whether it makes sense to ask Postgres again. */
  callBack(levels: readonly Level[], others: readonly string[]): Promise<boolean>;
  /** Renews the leases of all slices that are in use; the others lapse. */
  renew(): Promise<void>;
};

/** `isLineKept`: whether Postgres has the line that the call's process leaves when it dies. */
export type SlicedSettlement = { covered: bigint[]; isLineKept: boolean };

export type SlicesOptions = {
  bus: Bus;
  store: BudgetStore;
  log: Log;
  /** The name of this process in Postgres. */
  owner: string;
  /** How many calls a slice is for, beside those under way. 0: nothing is drawn ahead. */
  callsAhead: number;
};

export function createSlices(options: SlicesOptions): Slices {
  const { store, log, callsAhead } = options;
  const table = createSliceTable();
  const keeping = createSliceKeeping({ store, log, callsAhead });
  const giving = createGivingBack(options, table, keeping);
  const tend = (kept: KeptSlice) => {
    if (!giving.isScarce(kept.level.key)) void keeping.tend(kept);
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'slices',
    async start() {
      timer = setInterval(() => {
        table.forgetUnused().forEach(tend);
        for (const call of table.unkept(performance.now() - everyMs)) keepLine(store, log, call);
      }, everyMs);
    },
    async stop() {
      clearInterval(timer);
      giving.close();
      await Promise.all(table.slices().map(keeping.giveAllBack)).catch(() => undefined);
    },
    take(call, holding) {
      const open = table.take(call, holding);
      for (const { kept } of open?.held ?? []) if (rules.wishOf(kept.slice, callsAhead) > 0n) tend(kept);
      return open !== undefined;
    },
    async beginSettling(call, taken) {
      const open = table.find(call);
      if (!open) return undefined;
      open.isSettling = true;
      await open.kept;
      const covered = open.held.map(({ need }, position) => rules.coveredBy(need, taken[position] ?? 0n));
      return { covered, isLineKept: open.kept !== undefined };
    },
    settle(call, covered) {
      for (const kept of table.settle(call, covered)) if (giving.isScarce(kept.level.key)) void giving.later(kept);
    },
    note(levels, needs) {
      if (callsAhead === 0 || levels.length === 0 || !levels.every(isSliced)) return;
      for (const [position, level] of levels.entries()) {
        const kept = table.sliceOf(level);
        if (!kept) continue;
        kept.slice = rules.note(kept.slice, needs[position] ?? 0n);
        if (level.limit < kept.level.limit) void giving.forLower(level, kept);
        else tend(kept);
      }
    },
    callBack: async (levels, others) =>
      await giving.callBack(
        levels.filter(isSliced).map(({ key }) => key),
        others,
      ),
    renew: () => keeping.renew(table.slices()),
  };
}

/** What is given back because somebody needs it: here, and by the other replicas. */
function createGivingBack({ bus, log, owner }: SlicesOptions, table: SliceTable, keeping: SliceKeeping) {
  const scarceUntil = new Map<string, number>();
  const underWay = new Map<string, Promise<void>>();
  const giveBackHere = async (keys: readonly string[]) => {
    const until = performance.now() + scarceMs;
    for (const key of keys) remember(scarceUntil, key, until);
    const meant = table.slices().filter(({ level }) => keys.includes(level.key));
    for (const kept of meant) kept.drawNotBeforeMs = until;
    await Promise.all(meant.map(keeping.giveAllBack));
  };
  const calls = createSliceCalls({ bus, log, owner, giveBack: giveBackHere });
  const later = (kept: KeptSlice) =>
    keeping.giveAllBack(kept).catch((error: unknown) => log.warn({ err: error }, 'a slice will be given back later'));
  return {
    isScarce: (key: string) => (scarceUntil.get(key) ?? 0) > performance.now(),
    close: calls.close,
    later,
    /** What was drawn when the limit was higher is not used under the lower one. */
    async forLower(level: Level, kept: KeptSlice): Promise<void> {
      await later(kept);
      if (kept.slice.free === 0n) kept.level = level;
    },
    /** Calls for the same budgets at the same time wait for the same answer. */
    async callBack(keys: readonly string[], others: readonly string[]): Promise<boolean> {
      if (keys.length === 0) return false;
      const id = keys.join('\n');
      const known = underWay.get(id);
      const isHere = table.slices().some(({ level, slice }) => keys.includes(level.key) && slice.free > 0n);
      if (!known && !isHere && !calls.canAsk(others)) return false;
      const asking =
        known ??
        Promise.all([giveBackHere(keys), calls.callBack(keys, others)])
          .then(() => undefined)
          .finally(() => underWay.delete(id));
      underWay.set(id, asking);
      await asking;
      return true;
    },
  };
}

/** A call that takes its time may be lost with this process: what the books are to say then is kept beside what is held. */
function keepLine(store: BudgetStore, log: Log, open: OpenCall): void {
  open.kept = store.hold(open.call, { levels: [], needs: [], line: open.line() }).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof UnavailableError)) log.error({ err: error, ...open.call }, 'a line could not be kept');
      open.kept = undefined;
    },
  );
}

/** Limits of runs are for one run: they stay exact, in one place. */
function isSliced({ kind }: Level): boolean {
  return kind === 'budget';
}

function remember(map: Map<string, number>, key: string, value: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > slicesMax && oldest !== undefined) map.delete(oldest);
}
