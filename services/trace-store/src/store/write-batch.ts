/**
 * One batch of messages in one transaction.
 *
 * 1. A batch may be written any number of times, whole or in parts: every slot is added once, and roll-ups take in only
 *    what was added.
 * 2. Rejected messages, runs and records are locked in that order, each sorted by key: writers wait, but never in a circle.
 */
import type { Database, Queryable } from '@pawl/db';
import type { FactReading, RejectedMessage } from '../record/fact-message.ts';
import { recordOf, type TraceRecord } from '../record/record.ts';
import { contributionOf, mergeRollUps, type RollUp } from '../record/roll-up.ts';
import { insertRecords, keyOf } from './record-rows.ts';
import { insertRejected } from './rejected-rows.ts';
import { lockRuns, runKeyOf, sortedKeys, updateRuns, type RunKey } from './run-rows.ts';

/** Stores what was read; when it resolves, it is committed. Throws `UnavailableError` while Postgres is away. */
export async function writeBatch(database: Database, readings: readonly FactReading[]): Promise<void> {
  const records: TraceRecord[] = [];
  const rejected: RejectedMessage[] = [];
  for (const reading of readings) {
    if ('fact' in reading) records.push(recordOf(reading.fact));
    else rejected.push(reading.rejected);
  }
  await database.transaction(async (client) => {
    if (rejected.length > 0) await insertRejected(client, rejected);
    if (records.length > 0) await addRecords(client, firstOfEachSlot(records));
  });
}

async function addRecords(client: Queryable, records: readonly TraceRecord[]): Promise<void> {
  const rollUps = await lockRuns(client, sortedKeys(records));
  const added = await insertRecords(client, records);
  if (added.length === 0) return;
  await updateRuns(client, mergeInto(rollUps, added));
}

function mergeInto(
  rollUps: ReadonlyMap<string, RollUp>,
  added: readonly TraceRecord[],
): { key: RunKey; rollUp: RollUp }[] {
  const touched = new Map<string, { key: RunKey; rollUp: RollUp }>();
  for (const record of added) {
    const id = runKeyOf(record);
    const known = touched.get(id)?.rollUp ?? rollUps.get(id);
    touched.set(id, { key: record, rollUp: mergeRollUps(known, contributionOf(record)) });
  }
  return [...touched.values()];
}

function firstOfEachSlot(records: readonly TraceRecord[]): TraceRecord[] {
  const bySlot = new Map<string, TraceRecord>();
  for (const record of records) if (!bySlot.has(keyOf(record))) bySlot.set(keyOf(record), record);
  return [...bySlot.values()];
}
