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
import { leaseMs, type BudgetStore, type CallAddress } from './store.ts';

const everyMs = 1_000;
const periodMs = 15_000;
const slicesMax = 10_000;
/** What clocks of different speed and an answer on its way may take off a lease. */
const leaseMarginMs = 5_000;
/** After a budget was scarce nothing of it is drawn ahead for a while. */
const scarceMs = 15_000;
/** After a draw brought nothing. */
const drawAgainMs = 1_000;
const calledBackWithinMs = 1_000;
const subject = 'pawl.gateway.slices';

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
  callBack(levels: readonly Level[], others: number): Promise<boolean>;
  /** Renews the leases of all slices that are in use; the others lapse. */
  renew(): Promise<void>;
};

type Entry = {
  level: Level;
  slice: rules.Slice;
  /** Monotonic. */
  usableUntilMs: number;
  drawNotBeforeMs: number;
  rotatedAtMs: number;
  /** Whether Postgres has told of it. */
  isKnown: boolean;
  /** Lapsed: what was in it belongs to everybody again, and calls under way are settled without it. */
  isDead: boolean;
};

type Open = { entry: Entry; need: bigint }[];

export type SlicesOptions = {
  bus: Bus;
  store: BudgetStore;
  log: Log;
  /** How many calls a slice is for, beside those under way. 0: nothing is drawn ahead. */
  callsAhead: number;
};

export function createSlices({ bus, store, log, callsAhead }: SlicesOptions): Slices {
  const entries = new Map<string, Entry>();
  const open = new Map<string, Open>();
  const scarceUntil = new Map<string, number>();
  const tending = createTending({ store, log, callsAhead });
  let timer: NodeJS.Timeout | undefined;

  const isScarce = (key: string) => (scarceUntil.get(key) ?? 0) > performance.now();
  const tend = (entry: Entry) => {
    if (isScarce(entry.level.key)) entry.drawNotBeforeMs = performance.now() + drawAgainMs;
    return tending.tend(entry);
  };
  const giveBackHere = async (keys: readonly string[]) => {
    const until = performance.now() + scarceMs;
    for (const key of keys) remember(scarceUntil, key, until);
    const meant = [...entries.values()].filter(({ level }) => keys.includes(level.key));
    for (const entry of meant) entry.drawNotBeforeMs = until;
    await Promise.all(meant.map((entry) => tending.giveBack(entry, entry.slice.free)));
  };
  const subscription = bus.connection.subscribe(subject, {
    callback: (error, message) => {
      if (error) return;
      giveBackHere(message.string().split('\n'))
        .catch((failure: unknown) => log.warn({ err: failure }, 'slices will be given back later'))
        .finally(() => message.respond());
    },
  });
  const tick = () => {
    for (const [key, entry] of entries) {
      void tend(entry);
      if (entry.isDead || (isEmpty(entry.slice) && rules.leastOf(entry.slice) === 0n)) entries.delete(key);
    }
  };
  return {
    name: 'slices',
    start: async () => void (timer = setInterval(tick, everyMs)),
    async stop() {
      clearInterval(timer);
      subscription.unsubscribe();
      await Promise.all([...entries.values()].map((entry) => tending.giveBack(entry, entry.slice.free))).catch(
        () => undefined,
      );
    },
    take(call, levels, needs) {
      const held = takeAll(entries, levels, needs);
      if (!held) return false;
      open.set(keyOfCall(call), held);
      for (const { entry } of held) if (rules.wishOf(entry.slice, callsAhead) > 0n) void tend(entry);
      return true;
    },
    coveredOf: (call, taken) =>
      open.get(keyOfCall(call))?.map(({ need }, position) => rules.coveredBy(need, taken[position] ?? 0n)),
    settle(call, covered = []) {
      const key = keyOfCall(call);
      for (const [position, { entry, need }] of (open.get(key) ?? []).entries()) {
        entry.slice = rules.settle(entry.slice, { need, covered: covered[position] ?? 0n });
      }
      open.delete(key);
    },
    note(levels, needs) {
      if (callsAhead === 0 || levels.length === 0 || !levels.every(isSliced)) return;
      for (const [position, level] of levels.entries()) {
        const entry = entryOf(entries, level);
        if (!entry) continue;
        entry.slice = rules.note(entry.slice, needs[position] ?? 0n);
        void tend(entry);
      }
    },
    async callBack(levels, others) {
      const keys = levels.filter((level) => isSliced(level) && !isScarce(level.key)).map(({ key }) => key);
      const isHere = [...entries.values()].some(({ level, slice }) => keys.includes(level.key) && slice.free > 0n);
      if (keys.length === 0 || (others === 0 && !isHere)) return false;
      await giveBackHere(keys);
      if (others > 0 && bus.isConnected()) await askOthers(bus, keys, others);
      return true;
    },
    renew: () => tending.renew([...entries.values()]),
  };
}

/** What is done with Postgres: one statement after the other, so that each answer is about what is known here. */
function createTending({ store, log, callsAhead }: Pick<SlicesOptions, 'store' | 'log' | 'callsAhead'>) {
  let last: Promise<void> = Promise.resolve();
  const inTurn = (body: () => Promise<void>): Promise<void> => {
    const next = last.then(body);
    last = next.catch(() => undefined);
    return next;
  };
  const giveBack = (entry: Entry, wanted: bigint) =>
    inTurn(async () => {
      const amount = wanted < entry.slice.free ? wanted : entry.slice.free;
      if (amount <= 0n || entry.isDead) return;
      entry.slice = rules.release(entry.slice, amount);
      const net = await store.giveBack(entry.level, amount);
      if (net === undefined) entry.isDead = true;
      else entry.slice = rules.adopt(entry.slice, net);
    });
  const draw = (entry: Entry) =>
    inTurn(async () => {
      const wish = rules.wishOf(entry.slice, callsAhead);
      const askedAtMs = performance.now();
      if (wish === 0n || entry.isDead || !isCurrent(entry) || askedAtMs < entry.drawNotBeforeMs) return;
      const before = entry.slice.net;
      entry.drawNotBeforeMs = askedAtMs + drawAgainMs;
      const net = await store.draw(entry.level, {
        wish,
        least: rules.leastOf(entry.slice),
        isNew: !entry.isKnown,
      });
      adopt(entry, net, askedAtMs);
      if (net > before) entry.drawNotBeforeMs = 0;
    });
  return {
    giveBack,
    renew: (all: readonly Entry[]) =>
      inTurn(async () => {
        const live = all.filter(({ isKnown, isDead }) => isKnown && !isDead);
        const askedAtMs = performance.now();
        const nets = await store.renewSlices(live.map(({ level }) => level));
        for (const [position, entry] of live.entries()) {
          const net = nets[position];
          if (net === undefined) entry.isDead = true;
          else adopt(entry, net, askedAtMs);
        }
      }),
    async tend(entry: Entry): Promise<void> {
      const now = performance.now();
      if (now - entry.rotatedAtMs > periodMs) {
        entry.slice = rules.rotate(entry.slice);
        entry.rotatedAtMs = now;
      }
      const surplus = isCurrent(entry) ? rules.surplusOf(entry.slice, callsAhead) : entry.slice.free;
      try {
        if (surplus > 0n) await giveBack(entry, surplus);
        else if (rules.wishOf(entry.slice, callsAhead) > 0n && now >= entry.drawNotBeforeMs) await draw(entry);
      } catch (error) {
        if (!(error instanceof UnavailableError)) log.error({ err: error }, 'a slice could not be looked after');
      }
    },
  };
}

function takeAll(entries: Map<string, Entry>, levels: readonly Level[], needs: readonly bigint[]): Open | undefined {
  const now = performance.now();
  const held: (Open[0] & { after: rules.Slice })[] = [];
  for (const [position, level] of levels.entries()) {
    const entry = entries.get(keyOf(level.key, level.window.fromMs));
    const need = needs[position] ?? 0n;
    // A limit that was lowered is looked at in Postgres.
    const isUsable = entry && !entry.isDead && entry.usableUntilMs > now && level.limit >= entry.level.limit;
    const after = isUsable ? rules.take(rules.note(entry.slice, need), need) : undefined;
    if (!entry || !after) return undefined;
    held.push({ entry, need, after });
  }
  for (const { entry, after } of held) entry.slice = after;
  return held;
}

function entryOf(entries: Map<string, Entry>, level: Level): Entry | undefined {
  const key = keyOf(level.key, level.window.fromMs);
  const known = entries.get(key);
  if (known) known.level = level;
  if (known || entries.size >= slicesMax) return known;
  const entry: Entry = {
    level,
    slice: rules.emptySlice,
    usableUntilMs: 0,
    drawNotBeforeMs: 0,
    rotatedAtMs: performance.now(),
    isKnown: false,
    isDead: false,
  };
  entries.set(key, entry);
  return entry;
}

function adopt(entry: Entry, net: bigint, askedAtMs: number): void {
  entry.slice = rules.adopt(entry.slice, net);
  entry.isKnown = true;
  entry.usableUntilMs = askedAtMs + leaseMs - leaseMarginMs;
}

function isCurrent({ level }: Entry): boolean {
  return level.window.toMs === null || Date.now() < level.window.toMs;
}

function isEmpty({ free, used }: rules.Slice): boolean {
  return free === 0n && used === 0n;
}

/** Limits of runs are for one run: they stay exact, in one place. */
function isSliced({ kind }: Level): boolean {
  return kind === 'budget';
}

/** Waits until every other replica that has a slice has given back what it can, or for a while. */
async function askOthers(bus: Bus, keys: readonly string[], others: number): Promise<void> {
  const answers = await bus.connection
    .requestMany(subject, keys.join('\n'), { strategy: 'count', maxMessages: others + 1, maxWait: calledBackWithinMs })
    .catch(() => []);
  for await (const _answer of answers) continue;
}

function keyOfCall({ runId, m }: CallAddress): string {
  return `${runId}/${m}`;
}

function keyOf(key: string, fromMs: number): string {
  return `${key}@${fromMs}`;
}

function remember(map: Map<string, number>, key: string, value: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > slicesMax && oldest !== undefined) map.delete(oldest);
}
