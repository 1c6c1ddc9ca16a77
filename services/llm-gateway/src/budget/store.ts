/**
 * Holds, charges and slices in Postgres. The rules are in the functions of the migrations; who may spend how much is decided by
 * levels and needs that come in. Holds and charges of calls at the same time go together, in one transaction each.
 */
import type { Queryable } from '@pawl/db';
import type { Level } from './levels.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { storable } from '../ledger/storable.ts';
import { createGroupCommit } from './group-commit.ts';

/** How long a hold or a slice outlives the last sign of its process. */
export const leaseMs = 45_000;

/** How long what is held ahead waits for its call. */
export const aheadMs = 5_000;
const aheadOwner = 'ahead';

export type CallAddress = { runId: string; m: number };

export type HoldOutcome =
  | { outcome: 'held' }
  /** Another call is under way at this address; nothing was held. Only for exclusive holds. */
  | { outcome: 'in-use' }
  /** The call was settled before; `thought` is its fact as JSON text. */
  | { outcome: 'settled'; thought: string }
  | {
      /** `refusedBy` does not have enough; nothing was held. */
      outcome: 'refused';
      refusedBy: number;
      /** What was left, in the levels' order and units. */
      lefts: bigint[];
      /** Other replicas, by name, that have a slice of one of the levels. */
      others: readonly string[];
      /** Whether another process, dead or alive, still holds something for this very call. */
      isShared: boolean;
      /** What of the levels is held ahead, for calls that may not come, and how long that may last. */
      ahead: { amounts: bigint[]; lapsesInMs: number };
    };

/** The part of a level that a charge needs. */
export type ChargedLevel = { key: string; window: { fromMs: number } };

export type Settlement = {
  /** The process that made the hold; default this one. */
  owner?: string;
  call: CallAddress;
  levels: readonly ChargedLevel[];
  /** What the call took from each level. */
  taken: readonly bigint[];
  /** What of that comes out of the owner's slice of each level; absent for calls that were held in Postgres. */
  covered?: readonly bigint[] | undefined;
  /** Whether there may be a line of a call that was not held in Postgres. */
  isLineKept?: boolean;
  /** Absent when no model was asked. */
  entry: LedgerEntry | undefined;
  /** The thought fact as JSON text; absent when the call is given up here and will be made again elsewhere. */
  thought: string | undefined;
};

export type Holding = {
  levels: readonly Level[];
  /** What the call needs of each level. */
  needs: readonly bigint[];
  /** What the books will say if this process dies before it settles the call. */
  line?: LedgerEntry | undefined;
  /** Refused while anybody holds something for the call. */
  isExclusive?: boolean;
  /** Whether this process holds something for the call that this hold replaces. */
  isReplacing?: boolean;
};

export type BudgetStore = {
  /** Holds `needs` on all levels or on none. What this process held for the call before is replaced. */
  hold(call: CallAddress, holding: Holding): Promise<HoldOutcome>;
  /** Holds `needs` for a call that nobody is at yet; whether it could. Whoever holds for the call replaces it, else it lapses soon. */
  holdAhead(call: CallAddress, holding: Pick<Holding, 'levels' | 'needs'>): Promise<boolean>;
  /** Whether no hold and no charge waits or is under way. */
  isIdle(): boolean;
  /** Settles a call once, whatever is repeated. Gives the thought that had been stored by another, if any. */
  charge(settlement: Settlement): Promise<string | undefined>;
  /** The reply of a call that was settled before, as it was stored. */
  storedReply(call: CallAddress): Promise<string | undefined>;
  /** Draws more for this process's slice, no more than Postgres finds fit; gives all it ever drew less what it gave back. */
  draw(level: Level, of: { wish: bigint; least: bigint; isNew: boolean }): Promise<bigint>;
  /** Gives some of the slice back; what `draw` gives, or undefined when the slice has lapsed. */
  giveBack(level: Level, amount: bigint): Promise<bigint | undefined>;
  /** Renews slices; of each what `draw` gives, or undefined when it has lapsed. */
  renewSlices(levels: readonly Level[]): Promise<(bigint | undefined)[]>;
  /** Renews all holds of this process. */
  renewHolds(): Promise<void>;
  /** Gives back what lapsed holds and slices had set aside; how many there were. */
  sweepHolds(): Promise<number>;
  /** What is held, slices included, and spent on a level's current window. */
  stateOf(level: Level): Promise<{ held: bigint; spent: bigint }>;
};

const sweptMax = 500;
const group = { itemsMax: 100, withinMs: 10_000 };

type Held = { call: CallAddress; holding: Holding };

/** `owner` names this process; it has to be unique among all that ever ran. */
export function createBudgetStore(database: Queryable, owner: string): BudgetStore {
  const holdInGroup = createGroupCommit<Held, HoldOutcome>({
    ...group,
    keyOf: ({ call }) => keyOf(call),
    commit: (items) => holdAll(database, { owner, leaseMs }, items),
  });
  const chargeInGroup = createGroupCommit<Settlement, string | undefined>({
    ...group,
    keyOf: ({ call }) => keyOf(call),
    commit: (items) => chargeAll(database, owner, items),
  });
  return {
    hold: (call, holding) => holdInGroup.commit({ call, holding }),
    async holdAhead(call, holding) {
      const item = { call, holding: { ...holding, isExclusive: true } };
      const [held] = await holdAll(database, { owner: aheadOwner, leaseMs: aheadMs }, [item]);
      return held?.outcome === 'held';
    },
    isIdle: () => !holdInGroup.isBusy() && !chargeInGroup.isBusy(),
    charge: chargeInGroup.commit,
    async storedReply(call) {
      const [row] = await database.query<{ thought: string }>(
        'select thought from gateway.replies where run_id = $1 and m = $2',
        [call.runId, call.m],
      );
      return row?.thought;
    },
    ...slicesOf(database, owner),
    async renewHolds() {
      await database.query(
        `update gateway.holds set expires_at = clock_timestamp() + $2 * interval '1 millisecond' where owner = $1`,
        [owner, leaseMs],
      );
    },
    async sweepHolds() {
      const [row] = await database.query<{ count: number }>('select gateway.sweep($1) as count', [sweptMax]);
      return row?.count ?? 0;
    },
    async stateOf(level) {
      const [row] = await database.query<{ held: string; spent: string }>(
        'select held, spent from gateway.counters where key = $1 and window_from = $2',
        [storable(level.key), new Date(level.window.fromMs)],
      );
      return { held: BigInt(row?.held ?? 0), spent: BigInt(row?.spent ?? 0) };
    },
  };
}

function slicesOf(database: Queryable, owner: string): Pick<BudgetStore, 'draw' | 'giveBack' | 'renewSlices'> {
  return {
    async draw({ key, window, limit }, { wish, least, isNew }) {
      const [row] = await database.query<{ net: string }>(
        'select gateway.draw($1, $2, $3, $4, $5, $6, $7, $8) as net',
        [owner, leaseMs, storable(key), new Date(window.fromMs), ...[limit, wish, least].map(String), isNew],
      );
      return BigInt(row?.net ?? 0);
    },
    async giveBack({ key, window }, amount) {
      const [row] = await database.query<{ net: string | null }>('select gateway.give_back($1, $2, $3, $4) as net', [
        owner,
        storable(key),
        new Date(window.fromMs),
        amount.toString(),
      ]);
      return row?.net == null ? undefined : BigInt(row.net);
    },
    renewSlices: (levels) => renewSlices(database, owner, levels),
  };
}

type HeldRow = {
  stored?: string;
  in_use?: boolean;
  refused?: number;
  left?: string[];
  others?: string[];
  is_shared?: boolean;
  ahead?: string[];
  ahead_ms?: number | null;
};

async function holdAll(
  database: Queryable,
  lease: { owner: string; leaseMs: number },
  items: readonly Held[],
): Promise<HoldOutcome[]> {
  const counters = new Map<string, { place: number; key: string; fromMs: number }>();
  const placeOf = ({ key, window }: Level): number => {
    const id = `${window.fromMs} ${key}`;
    const known = counters.get(id);
    if (known) return known.place;
    counters.set(id, { place: counters.size + 1, key: storable(key), fromMs: window.fromMs });
    return counters.size;
  };
  const levels = items.flatMap(({ holding }, position) =>
    holding.levels.map((level, index) => ({
      of: position + 1,
      counter: placeOf(level),
      limit: level.limit.toString(),
      need: String(holding.needs[index] ?? 0n),
    })),
  );
  const keys = [...counters.values()];
  const [row] = await database.query<{ outcomes: HeldRow[] }>(
    'select gateway.hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as outcomes',
    [
      lease.owner,
      lease.leaseMs,
      items.map(({ call }) => call.runId),
      items.map(({ call }) => call.m),
      items.map(({ holding }) => holding.isExclusive ?? false),
      items.map(({ holding }) => holding.isReplacing ?? false),
      JSON.stringify(items.map(({ holding }) => holding.line ?? null)),
      keys.map(({ key }) => key),
      keys.map(({ fromMs }) => new Date(fromMs)),
      levels.map(({ of }) => of),
      levels.map(({ counter }) => counter),
      levels.map(({ limit }) => limit),
      levels.map(({ need }) => need),
    ],
  );
  if (!row) throw new TypeError('gateway.hold gave no row');
  return row.outcomes.map(outcomeOf);
}

function outcomeOf(row: HeldRow): HoldOutcome {
  if (row.stored !== undefined) return { outcome: 'settled', thought: row.stored };
  if (row.in_use) return { outcome: 'in-use' };
  if (row.refused === undefined) return { outcome: 'held' };
  return {
    outcome: 'refused',
    refusedBy: row.refused - 1,
    lefts: (row.left ?? []).map(BigInt),
    others: row.others ?? [],
    isShared: row.is_shared ?? false,
    ahead: { amounts: (row.ahead ?? []).map(BigInt), lapsesInMs: row.ahead_ms ?? 0 },
  };
}

async function chargeAll(
  database: Queryable,
  owner: string,
  items: readonly Settlement[],
): Promise<(string | undefined)[]> {
  const levels = items.flatMap((item, position) =>
    item.levels.map(({ key, window }, index) => ({
      of: position + 1,
      key: storable(key),
      from: new Date(window.fromMs),
      taken: String(item.taken[index] ?? 0n),
      covered: item.covered ? String(item.covered[index] ?? 0n) : null,
    })),
  );
  const [row] = await database.query<{ stored: (string | null)[] }>(
    'select gateway.charge($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as stored',
    [
      items.map(({ call }) => call.runId),
      items.map(({ call }) => call.m),
      items.map((item) => item.owner ?? owner),
      items.map(({ covered, isLineKept }) => covered === undefined || isLineKept === true),
      items.map(({ thought }) => thought ?? null),
      JSON.stringify(items.map(({ entry }) => entry ?? null)),
      levels.map(({ of }) => of),
      levels.map(({ key }) => key),
      levels.map(({ from }) => from),
      levels.map(({ taken }) => taken),
      levels.map(({ covered }) => covered),
    ],
  );
  return items.map((_item, position) => row?.stored[position] ?? undefined);
}

async function renewSlices(
  database: Queryable,
  owner: string,
  levels: readonly Level[],
): Promise<(bigint | undefined)[]> {
  if (levels.length === 0) return [];
  const rows = await database.query<{ place: number; net: string }>(
    `update gateway.slices s set expires_at = clock_timestamp() + $2 * interval '1 millisecond'
       from unnest($3::text[], $4::timestamptz[]) with ordinality as u(key, window_from, place)
       where s.owner = $1 and s.key = u.key and s.window_from = u.window_from
       returning (u.place - 1)::integer as place, s.net`,
    [owner, leaseMs, levels.map(({ key }) => storable(key)), levels.map(({ window }) => new Date(window.fromMs))],
  );
  const nets = new Map(rows.map(({ place, net }) => [place, BigInt(net)]));
  return levels.map((_level, position) => nets.get(position));
}

function keyOf({ runId, m }: CallAddress): string {
  return `${runId}/${m}`;
}
