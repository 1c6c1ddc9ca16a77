/**
 * Holds made ahead, for the time when Postgres is away: a call that needs no more than one of them goes on with it and is
 * charged through the journal. There are as many as calls of the same kind have been made of late, up to a bound, and each is a
 * hold like any other: nothing is ever spent that was not held (I13). When money gets scarce, all replicas give theirs back.
 */
import { randomUUID } from 'node:crypto';
import type { Bus } from '@pawl/bus';
import { UnavailableError } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import type { Level } from './levels.ts';
import type { BudgetStore, CallAddress } from './store.ts';

const everyMs = 1_000;
const kindsMax = 1_000;
/** A kind of call that was not made for so long needs no spare holds. */
const idleMs = 30_000;
/** After money was scarce nothing is held ahead for a while. */
const scarceMs = 15_000;
const subject = 'pawl.gateway.spares';

export type SpareHolds = Part & {
  /** The address of a hold that covers a call, which the caller has to settle. */
  take(levels: readonly Level[], needs: readonly bigint[]): CallAddress | undefined;
  /** Remembers what a call needed, so that there is something in reserve for the next of its kind. */
  note(levels: readonly Level[], needs: readonly bigint[]): void;
  /** Gives back what is held ahead on these levels, everywhere. Whether it makes sense to look again after a moment. */
  release(levels: readonly Level[]): boolean;
};

type Kind = {
  levels: readonly Level[];
  needs: bigint[];
  spares: { address: CallAddress; needs: readonly bigint[] }[];
  usedAtMs: number;
  notBeforeMs: number;
};

export type SpareHoldsOptions = {
  bus: Bus;
  store: BudgetStore;
  log: Log;
  /** For each kind of call. */
  sparesMax: number;
};

export function createSpareHolds({ bus, store, log, sparesMax }: SpareHoldsOptions): SpareHolds {
  const reserve = createReserve(store, sparesMax);
  const released = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const schedule = () => {
    timer = setTimeout(() => {
      underWay = reserve
        .tend()
        .catch((error: unknown) => {
          if (!(error instanceof UnavailableError)) log.error({ err: error }, 'nothing could be held ahead');
        })
        .finally(() => {
          if (timer) schedule();
        });
    }, everyMs);
  };
  const releaseHere = (keys: readonly string[]) => {
    reserve.release(keys).catch((error: unknown) => log.warn({ err: error }, 'spare holds will be given back later'));
  };
  const subscription = bus.connection.subscribe(subject, {
    callback: (error, message) => {
      if (!error) releaseHere(message.string().split('\n'));
    },
  });
  return {
    name: 'spare-holds',
    start: async () => schedule(),
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      subscription.unsubscribe();
      await underWay;
      await reserve.close().catch(() => undefined);
    },
    take: reserve.take,
    note: reserve.note,
    release(levels) {
      const now = performance.now();
      const keys = levels
        .filter(isSparable)
        .map(({ key }) => key)
        .filter((key) => now - (released.get(key) ?? -Infinity) > scarceMs);
      if (keys.length === 0 || sparesMax === 0) return false;
      for (const key of keys) released.set(key, now);
      const [oldest] = released.keys();
      if (released.size > kindsMax && oldest !== undefined) released.delete(oldest);
      if (bus.isConnected()) bus.connection.publish(subject, keys.join('\n'));
      releaseHere(keys);
      return true;
    },
  };
}

/** The spare holds of this process, by kind of call. */
function createReserve(store: BudgetStore, sparesMax: number) {
  const kinds = new Map<string, Kind>();
  const isScarce = (kind: Kind) => performance.now() < kind.notBeforeMs;
  const fill = async (kind: Kind) => {
    while (kind.spares.length < sparesMax && !isScarce(kind)) {
      const address = { runId: `spare_${randomUUID().replaceAll('-', '')}`, m: 0 };
      const needs = [...kind.needs];
      const held = await store.hold(address, { levels: kind.levels, needs });
      if (held.outcome === 'held') kind.spares.push({ address, needs });
      else kind.notBeforeMs = performance.now() + scarceMs;
    }
    if (isScarce(kind)) await giveBack(store, kind);
  };
  return {
    async tend() {
      for (const [key, kind] of kinds) {
        const isIdle = performance.now() - kind.usedAtMs > idleMs;
        await (isIdle ? giveBack(store, kind) : fill(kind));
        if (isIdle) kinds.delete(key);
      }
    },
    async release(levelKeys: readonly string[]) {
      const meant = [...kinds.values()].filter(({ levels }) => levels.some(({ key }) => levelKeys.includes(key)));
      for (const kind of meant) kind.notBeforeMs = performance.now() + scarceMs;
      for (const kind of meant) await giveBack(store, kind);
    },
    async close() {
      for (const kind of kinds.values()) await giveBack(store, kind);
    },
    take(levels: readonly Level[], needs: readonly bigint[]): CallAddress | undefined {
      const spares = kinds.get(keyOf(levels))?.spares ?? [];
      const position = spares.findIndex((spare) => needs.every((need, index) => need <= (spare.needs[index] ?? 0n)));
      return position < 0 ? undefined : spares.splice(position, 1)[0]?.address;
    },
    note(levels: readonly Level[], needs: readonly bigint[]): void {
      if (sparesMax === 0 || levels.length === 0 || !levels.every(isSparable)) return;
      const key = keyOf(levels);
      const known = kinds.get(key);
      if (!known && kinds.size >= kindsMax) return;
      const kind = known ?? { levels, needs: [...needs], spares: [], usedAtMs: 0, notBeforeMs: 0 };
      kind.needs = kind.needs.map((need, index) => largest(need, needs[index] ?? 0n));
      kind.usedAtMs = performance.now();
      kinds.set(key, kind);
    },
  };
}

/** What could not be given back stays, to be tried again: its hold is renewed for as long as this process lives. */
async function giveBack(store: BudgetStore, kind: Kind): Promise<void> {
  for (let spare = kind.spares.pop(); spare; spare = kind.spares.pop()) {
    const nothing = { call: spare.address, levels: [], taken: [], entry: undefined, thought: undefined };
    try {
      await store.charge(nothing);
    } catch (error) {
      kind.spares.push(spare);
      throw error;
    }
  }
}

/** Limits of runs are for one run, and rate limits are over before Postgres is back. */
function isSparable({ kind, isRate }: Level): boolean {
  return kind === 'budget' && !isRate;
}

function keyOf(levels: readonly Level[]): string {
  return JSON.stringify(levels.map(({ key, window, limit }) => [key, window.fromMs, limit.toString()]));
}

function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
