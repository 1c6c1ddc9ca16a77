/**
 * Commits a reply with its money. While Postgres is away it waits, as long as this process may live, so that no paid reply is
 * lost.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { UnavailableError } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import type { BudgetStore, Settlement } from '../budget/store.ts';

const pauseFirstMs = 100;
const pauseMaxMs = 5_000;

/** Gives what had been stored for the call before, if anything. Throws `UnavailableError` when this process stops first. */
export async function settleCall(
  { store, log }: { store: BudgetStore; log: Log },
  settlement: Settlement,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let pauseMs = pauseFirstMs; ; pauseMs = Math.min(pauseMs * 2, pauseMaxMs)) {
    try {
      return await store.charge(settlement);
    } catch (error) {
      const isStopping = signal.aborted && (signal.reason as { kind?: unknown }).kind === 'shutdown';
      if (!(error instanceof UnavailableError) || isStopping) throw error;
      log.error({ err: error, runId: settlement.call.runId, m: settlement.call.m }, 'a charge waits for Postgres');
      await pause(pauseMs);
    }
  }
}
