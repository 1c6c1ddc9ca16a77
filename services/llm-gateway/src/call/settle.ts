/**
 * Commits a reply with its money. While Postgres is away the charge is kept in the journal instead, and where that fails, too,
 * it waits as long as this process may live, so that no paid reply is lost.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { UnavailableError } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import type { Slices } from '../budget/slices.ts';
import type { BudgetStore, Settlement } from '../budget/store.ts';
import type { Journal } from '../ledger/journal.ts';

export type SettleDeps = {
  store: BudgetStore;
  slices: Pick<Slices, 'beginSettling' | 'settle'>;
  journal: Pick<Journal, 'append'>;
  log: Log;
};

const pauseFirstMs = 100;
const pauseMaxMs = 5_000;

/**
 * Gives what had been stored for the call before, if anything; a charge that went into the journal can't know. Throws
 * `UnavailableError` when neither takes it until this process stops.
 */
export async function settleCall(
  deps: SettleDeps,
  settlement: Settlement,
  signal: AbortSignal,
): Promise<string | undefined> {
  const sliced = await deps.slices.beginSettling(settlement.call, settlement.taken);
  const stored = await chargeOrKeep(deps, { ...settlement, ...sliced }, signal);
  deps.slices.settle(settlement.call, sliced?.covered);
  return stored;
}

async function chargeOrKeep(
  { store, journal, log }: SettleDeps,
  settlement: Settlement,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let pauseMs = pauseFirstMs; ; pauseMs = Math.min(pauseMs * 2, pauseMaxMs)) {
    try {
      return await store.charge(settlement);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      const about = { runId: settlement.call.runId, m: settlement.call.m };
      try {
        await journal.append(settlement);
        log.warn({ err: error, ...about }, 'Postgres is away: a charge is kept in the journal');
        return undefined;
      } catch (journalError) {
        log.error({ err: journalError, ...about }, 'a charge waits for Postgres or NATS');
      }
      const isStopping = signal.aborted && (signal.reason as { kind?: unknown }).kind === 'shutdown';
      if (isStopping) throw error;
      await pause(pauseMs);
    }
  }
}
