/** Taking one fact out of the log, by its position: a purge by subject takes a server longer the more is in the log. */
import { streams } from '@pawl/contracts';
import { dropBody } from './claims.ts';
import type { Bus } from './connect.ts';
import { factSubject } from './fact-subject.ts';
import { claimOf } from './message.ts';

/** Where a fact lies in the log. */
export type FactPlace = { app: string; runId: string; slot: string; sequence: number };

/**
 * Removes the fact, and its body where that lies in the object store. False when it was not there: a log that has lost its tail has
 * something else in its place.
 */
export async function removeFact(bus: Bus, { sequence, slot, ...run }: FactPlace): Promise<boolean> {
  const message = await bus.jsm.streams.getMessage(streams.runs, { seq: sequence });
  if (message?.subject !== factSubject(bus, run, slot)) return false;
  const isRemoved = await bus.jsm.streams.deleteMessage(streams.runs, sequence, false);
  const claim = claimOf({ headers: message.header });
  if (claim) await dropBody(bus, claim);
  return isRemoved;
}
