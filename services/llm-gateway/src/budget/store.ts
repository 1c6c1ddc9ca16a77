/**
 * Holds and charges in Postgres, one round trip each. The rules are in the functions of the migration; who may spend how
 * much is decided by levels and needs that come in.
 */
import type { Queryable } from '@pawl/db';
import type { Level } from './levels.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { storable } from '../ledger/storable.ts';

/** How long a hold outlives the last sign of its process. */
export const leaseMs = 45_000;

export type CallAddress = { runId: string; m: number };

export type HoldOutcome =
  | { outcome: 'held' }
  /** Another call is under way at this address; nothing was held. Only for exclusive holds. */
  | { outcome: 'in-use' }
  /** The call was settled before; `thought` is its fact as JSON text. */
  | { outcome: 'settled'; thought: string }
  /** `refusedBy` does not have enough; nothing was held. `lefts` are what was left, in the levels' order and units. */
  | { outcome: 'refused'; refusedBy: number; lefts: bigint[] };

/** The part of a level that a charge needs. */
export type ChargedLevel = { key: string; window: { fromMs: number } };

export type Settlement = {
  /** The process that made the hold; default this one. */
  owner?: string;
  call: CallAddress;
  levels: readonly ChargedLevel[];
  /** What the call took from each level. */
  taken: readonly bigint[];
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
  /** Leave a hold alone that is still alive. */
  isExclusive?: boolean;
};

export type BudgetStore = {
  /** Holds `needs` on all levels or on none. Repeating it for the same call replaces the earlier hold. */
  hold(call: CallAddress, holding: Holding): Promise<HoldOutcome>;
  /** Settles a call once, whatever is repeated. Gives the thought that had been stored by another, if any. */
  charge(settlement: Settlement): Promise<string | undefined>;
  /** The reply of a call that was settled before, as it was stored. */
  storedReply(call: CallAddress): Promise<string | undefined>;
  /** Renews all holds of this process. */
  renewHolds(): Promise<void>;
  /** Gives back what lapsed holds had set aside; how many there were. */
  sweepHolds(): Promise<number>;
  /** What is held and spent on a level's current window. */
  stateOf(level: Level): Promise<{ held: bigint; spent: bigint }>;
};

type HoldRow = { stored: string | null; refused: number | null; left_over: string[]; in_use: boolean };

const sweptMax = 500;

/** `owner` names this process; it has to be unique among all that ever ran. */
export function createBudgetStore(database: Queryable, owner: string): BudgetStore {
  return {
    hold: (call, holding) => hold(database, owner, { call, ...holding }),
    charge: (settlement) => charge(database, settlement.owner ?? owner, settlement),
    async storedReply(call) {
      const [row] = await database.query<{ thought: string }>(
        'select thought from gateway.replies where run_id = $1 and m = $2',
        [call.runId, call.m],
      );
      return row?.thought;
    },
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

async function hold(
  database: Queryable,
  owner: string,
  { call, levels, needs, line, isExclusive = false }: Holding & { call: CallAddress },
): Promise<HoldOutcome> {
  const [row] = await database.query<HoldRow>(
    'select stored, refused, left_over, in_use from gateway.hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    [
      call.runId,
      call.m,
      owner,
      leaseMs,
      ...countersOf(levels),
      levels.map((level) => level.limit.toString()),
      needs.map(String),
      line ? JSON.stringify(line) : null,
      isExclusive,
    ],
  );
  if (!row) throw new TypeError('gateway.hold gave no row');
  if (row.in_use) return { outcome: 'in-use' };
  if (row.stored !== null) return { outcome: 'settled', thought: row.stored };
  if (row.refused === null) return { outcome: 'held' };
  return { outcome: 'refused', refusedBy: row.refused - 1, lefts: row.left_over.map(BigInt) };
}

async function charge(
  database: Queryable,
  owner: string,
  { call, levels, taken, entry, thought }: Settlement,
): Promise<string | undefined> {
  const [row] = await database.query<{ stored: string | null }>(
    'select gateway.charge($1, $2, $3, $4, $5, $6, $7, $8) as stored',
    [
      call.runId,
      call.m,
      owner,
      thought ?? null,
      ...countersOf(levels),
      taken.map(String),
      entry ? JSON.stringify(entry) : null,
    ],
  );
  return row?.stored ?? undefined;
}

function countersOf(levels: readonly ChargedLevel[]): [keys: string[], windows: Date[]] {
  return [levels.map((level) => storable(level.key)), levels.map((level) => new Date(level.window.fromMs))];
}
