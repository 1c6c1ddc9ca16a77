/**
 * One batch of records in one transaction.
 *
 * 1. A batch may be written any number of times, whole or in parts: every slot is added once, and roll-ups take in only
 *    what was added.
 * 2. Rejected messages, runs and records are locked in that order, each sorted by table and key: writers wait, but never
 *    in a circle.
 * 3. What has expired or was erased is not stored again, however often the log is read.
 */
import type { Queryable } from '@pawl/db';
import type { FactReading, RejectedMessage } from '../record/fact-message.ts';
import { contributionOf } from '../record/contribution.ts';
import { recordOf, type FactRecord, type TraceRecord } from '../record/record.ts';
import { mergeRollUps, type RollUp } from '../record/roll-up.ts';
import { isExpired, suffixOf, type Place } from '../retention/period.ts';
import { readErased } from './erased-runs.ts';
import { holdTables, tablesOf } from './partitions.ts';
import { insertRecords, keyOf } from './record-rows.ts';
import { insertRejected } from './rejected-rows.ts';
import type { RunKey } from './run-columns.ts';
import { lockRuns, removeRuns, runKeyOf, sortedKeys, updateRuns } from './run-rows.ts';
import { countSpans } from './span-counts.ts';
import type { TraceTables } from './trace-tables.ts';

/** A record with what it adds to its run. */
export type Entry = { record: TraceRecord; adds: RollUp };

/** Stores what was read; when it resolves, it is committed. Throws `UnavailableError` while Postgres is away. */
export async function writeBatch(tables: TraceTables, readings: readonly FactReading[]): Promise<TraceRecord[]> {
  const entries: Entry[] = [];
  const rejected: RejectedMessage[] = [];
  for (const reading of readings) {
    if ('fact' in reading) entries.push(entryOf(recordOf(reading.fact)));
    else rejected.push(reading.rejected);
  }
  return await writeEntries(tables, entries, rejected);
}

function entryOf(record: FactRecord): Entry {
  return { record, adds: contributionOf(record) };
}

/** Stores records, and notes what was set aside. Gives the records that were new. */
export async function writeEntries(
  tables: TraceTables,
  entries: readonly Entry[],
  rejected: readonly RejectedMessage[] = [],
): Promise<TraceRecord[]> {
  const places = byPlace(tables, firstOfEachSlot(entries));
  await tables.partitions.ensure(places.map(({ place }) => place));
  return await tables.database.transaction(async (client) => {
    for (const place of firstOfEachClass(places)) await holdTables(client, place);
    if (rejected.length > 0) await insertRejected(client, rejected);
    const added: TraceRecord[] = [];
    for (const { place, entries: ofPlace } of places) added.push(...(await addEntries(client, place, ofPlace)));
    return added;
  });
}

/** The entries of each place, places sorted; without those whose week has expired. */
function byPlace(tables: TraceTables, entries: readonly Entry[]): { place: Place; entries: Entry[] }[] {
  const places = new Map<string, { place: Place; entries: Entry[] }>();
  for (const entry of entries) {
    const place = tables.policy.placeOf(entry.record);
    if (isExpired(place.week, tables.policy.keptDays(place.class), tables.nowMs())) continue;
    const known = places.get(suffixOf(place)) ?? { place, entries: [] };
    known.entries.push(entry);
    places.set(suffixOf(place), known);
  }
  return [...places.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, place]) => place);
}

async function addEntries(client: Queryable, place: Place, all: readonly Entry[]): Promise<TraceRecord[]> {
  const tables = { ...tablesOf(place), class: place.class };
  const runTable = { name: tables.runs, class: place.class };
  const keys = sortedKeys(all.map(({ record }) => record));
  const rollUps = await lockRuns(client, runTable, keys);
  // Looked up under the lock: whoever erases a run marks it before he waits for its row.
  const erased = await readErased(client, keys);
  await removeRuns(
    client,
    runTable,
    keys.filter((key) => erased.has(runKeyOf(key))),
  );
  const entries = all.filter(({ record }) => !erased.has(runKeyOf(record)));
  const records = entries.map(({ record }) => record);
  const added = records.length === 0 ? [] : await insertRecords(client, tables, records);
  if (added.length === 0) return [];
  const isAdded = new Set(added.map(keyOf));
  const news = entries.filter(({ record }) => isAdded.has(keyOf(record)));
  await updateRuns(client, runTable, await countSpans(client, tables.records, mergeInto(rollUps, news)));
  return added;
}

function mergeInto(rollUps: ReadonlyMap<string, RollUp>, added: readonly Entry[]): { key: RunKey; rollUp: RollUp }[] {
  const touched = new Map<string, { key: RunKey; rollUp: RollUp }>();
  for (const { record, adds } of added) {
    const id = runKeyOf(record);
    const known = touched.get(id)?.rollUp ?? rollUps.get(id);
    touched.set(id, { key: record, rollUp: mergeRollUps(known, adds) });
  }
  return [...touched.values()];
}

function firstOfEachSlot(entries: readonly Entry[]): Entry[] {
  const bySlot = new Map<string, Entry>();
  for (const entry of entries) if (!bySlot.has(keyOf(entry.record))) bySlot.set(keyOf(entry.record), entry);
  return [...bySlot.values()];
}

function firstOfEachClass(places: readonly { place: Place }[]): Place[] {
  return [...new Map(places.map(({ place }) => [place.class, place])).values()];
}
