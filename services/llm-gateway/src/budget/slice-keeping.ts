/** Keeps slices as they should be: draws, gives back, renews. One statement after the other, so that each answer is about what is known here. */
import { UnavailableError } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import { outsideTraces } from '@pawl/telemetry';
import type { Level } from './levels.ts';
import * as rules from './slice.ts';
import { leaseMs, type BudgetStore } from './store.ts';

const periodMs = 15_000;
/** What clocks of different speed and an answer on its way may take off a lease. */
const leaseMarginMs = 5_000;
/** After a draw brought nothing. */
const drawAgainMs = 1_000;

/** A slice with its times, which are monotonic. */
export type KeptSlice = {
  /** As it was when the slice was last drawn for. */
  level: Level;
  slice: rules.Slice;
  usableUntilMs: number;
  drawNotBeforeMs: number;
  rotatedAtMs: number;
  /** Whether Postgres has told of it. */
  isKnown: boolean;
  /** Lapsed: what was in it belongs to everybody again, and calls under way are settled without it. */
  isDead: boolean;
};

export type SliceKeeping = {
  /** Draws or gives back, where it is time to. Never throws. */
  tend(kept: KeptSlice): Promise<void>;
  giveAllBack(kept: KeptSlice): Promise<void>;
  renew(all: readonly KeptSlice[]): Promise<void>;
};

export function createSliceKeeping(options: { store: BudgetStore; log: Log; callsAhead: number }): SliceKeeping {
  const { store, log, callsAhead } = options;
  let last: Promise<void> = Promise.resolve();
  const inTurn = (body: () => Promise<void>): Promise<void> => {
    const next = last.then(() => outsideTraces(body));
    last = next.catch(() => undefined);
    return next;
  };
  return {
    // What there is to give back is known when it is its turn: a draw may be under way.
    giveAllBack: (kept) => inTurn(() => giveBackNow(store, kept, kept.slice.free)),
    renew: (all) => inTurn(() => renewNow(store, all)),
    async tend(kept) {
      const now = performance.now();
      if (now - kept.rotatedAtMs > periodMs) {
        kept.slice = rules.rotate(kept.slice);
        kept.rotatedAtMs = now;
      }
      const surplus = isCurrent(kept) ? rules.surplusOf(kept.slice, callsAhead) : kept.slice.free;
      try {
        if (surplus > 0n) await inTurn(() => giveBackNow(store, kept, surplus));
        else if (mayDraw(kept, callsAhead)) await inTurn(() => drawNow(store, kept, callsAhead));
      } catch (error) {
        if (!(error instanceof UnavailableError)) log.error({ err: error }, 'a slice could not be looked after');
      }
    },
  };
}

async function giveBackNow(store: BudgetStore, kept: KeptSlice, wanted: bigint): Promise<void> {
  const amount = wanted < kept.slice.free ? wanted : kept.slice.free;
  if (amount <= 0n || kept.isDead) return;
  kept.slice = rules.release(kept.slice, amount);
  const net = await store.giveBack(kept.level, amount);
  if (net === undefined) kept.isDead = true;
  else kept.slice = rules.adopt(kept.slice, net);
}

async function drawNow(store: BudgetStore, kept: KeptSlice, callsAhead: number): Promise<void> {
  // It may have waited for its turn.
  if (!mayDraw(kept, callsAhead)) return;
  const askedAtMs = performance.now();
  const before = kept.slice.net;
  kept.drawNotBeforeMs = Math.max(kept.drawNotBeforeMs, askedAtMs + drawAgainMs);
  const paused = kept.drawNotBeforeMs;
  const wish = rules.wishOf(kept.slice, callsAhead);
  const net = await store.draw(kept.level, { wish, least: rules.leastOf(kept.slice), isNew: !kept.isKnown });
  adopt(kept, net, askedAtMs);
  if (net > before && kept.drawNotBeforeMs === paused) kept.drawNotBeforeMs = 0;
}

async function renewNow(store: BudgetStore, all: readonly KeptSlice[]): Promise<void> {
  const live = all.filter(({ isKnown, isDead }) => isKnown && !isDead);
  const askedAtMs = performance.now();
  const nets = await store.renewSlices(live.map(({ level }) => level));
  for (const [position, kept] of live.entries()) {
    const net = nets[position];
    if (net === undefined) kept.isDead = true;
    else adopt(kept, net, askedAtMs);
  }
}

function adopt(kept: KeptSlice, net: bigint, askedAtMs: number): void {
  kept.slice = rules.adopt(kept.slice, net);
  kept.isKnown = true;
  kept.usableUntilMs = askedAtMs + leaseMs - leaseMarginMs;
}

function mayDraw(kept: KeptSlice, callsAhead: number): boolean {
  const isTime = performance.now() >= kept.drawNotBeforeMs;
  return isTime && !kept.isDead && isCurrent(kept) && rules.wishOf(kept.slice, callsAhead) > 0n;
}

function isCurrent({ level }: KeptSlice): boolean {
  return level.window.toMs === null || Date.now() < level.window.toMs;
}
