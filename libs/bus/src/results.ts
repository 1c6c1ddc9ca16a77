/**
 * Whole results of tools whose observation shows only a part: kept in the object store, written and read piece by piece, so that
 * a large one never has to be in memory. A reference is a path that begins with `<app>/<runId>/`.
 *
 * Nothing lies there without a name: an entry `staged/…` stands before the first byte, and goes once the reference stands. So
 * whatever a crash leaves is found by that name and its age (`sweepResults`).
 */
import { createHash } from 'node:crypto';
import { headers, nuid } from '@nats-io/nats-core';
import { buckets, objectStream, UnavailableError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { objectSubjects, padded } from './object-subjects.ts';
import { isSlotTaken } from './publish.ts';
import type { ObjectEntry } from './read-entries.ts';

/** Bytes of a message. */
const chunkBytesMax = 128 * 1024;
const stream = objectStream(buckets.results);
const at = objectSubjects(buckets.results);
/** Begins the name of what belongs to nobody yet. */
export const stagedPrefix = 'staged/';
/** How often two that write the same result may get in each other's way. */
const triesMax = 20;

export type StoredResult = {
  bytes: number;
  /** What was told when it was stored. */
  contentType: string | undefined;
  /** Ends early when nobody reads on. Throws `UnavailableError`. */
  chunks: AsyncIterable<Uint8Array>;
};

/** An entry as every client of object stores reads it. `heir` is the reference that takes over a staged one. */
type Entry = {
  name: string;
  bucket: string;
  nuid: string;
  size: number;
  chunks: number;
  digest?: string;
  mtime?: string;
  deleted: boolean;
  options: { max_chunk_size: number };
  metadata: { contentType?: string; heir?: string };
};

/**
 * Stores what comes under a reference; storing again replaces. What `chunks` throws is thrown, and nothing is kept then.
 * Throws `UnavailableError`.
 */
export async function putResult(
  bus: Bus,
  { ref, contentType }: { ref: string; contentType?: string },
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const id = nuid.next();
  const isStaged = ref.startsWith(stagedPrefix);
  const staged = isStaged ? ref : `${stagedPrefix}${id}`;
  const max_chunk_size = Math.min(chunkBytesMax, bus.connection.info?.max_payload ?? chunkBytesMax);
  const about = { bucket: buckets.results, nuid: id, deleted: false, options: { max_chunk_size } } as const;
  const metadata = { ...(isStaged ? {} : { heir: ref }), ...(contentType === undefined ? {} : { contentType }) };
  const guard = await writeEntry(bus, { ...about, name: staged, size: 0, chunks: 0, metadata });
  const written = await writeChunks(bus, { id, bytesMax: max_chunk_size }, chunks).catch(async (error: unknown) => {
    await removeResult(bus, staged).catch(() => undefined);
    throw error;
  });
  const whole = { ...about, ...written, mtime: new Date().toISOString() };
  if (isStaged) return void (await writeEntry(bus, { ...whole, name: staged, metadata }));
  await settle(bus, { ...whole, name: ref, metadata: contentType === undefined ? {} : { contentType } });
  await dropMessage(bus, guard);
}

/** Gives what a staged one holds to a reference, in the place of what was there. Throws `UnavailableError`. */
export async function adoptResult(bus: Bus, staged: string, ref: string): Promise<void> {
  const entry = await entryOf(bus, staged);
  if (!entry) throw new UnavailableError('a staged result is not there any more');
  const { heir: _heir, ...metadata } = entry.metadata;
  // Who sweeps has to see that the bytes are another's from now on.
  const guard = await writeEntry(bus, { ...entry, metadata: { ...metadata, heir: ref } });
  await settle(bus, { ...entry, name: ref, metadata });
  await dropMessage(bus, guard);
}

/** Puts an entry in the place of what was there, whose bytes go first: none are left without a name. */
async function settle(bus: Bus, entry: Entry): Promise<void> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    try {
      await writeEntry(bus, entry, { lastSubjectSequence: 0 });
      return;
    } catch (error) {
      if (!isSlotTaken(error)) throw error;
    }
    // Its own, from a try whose answer was lost.
    if ((await entryOf(bus, entry.name))?.nuid === entry.nuid) return;
    await removeResult(bus, entry.name);
  }
  throw new UnavailableError(`others write the result ${entry.name}, too`);
}

/** Gives its place in the stream. */
async function writeEntry(bus: Bus, entry: Entry, expect?: { lastSubjectSequence: number }): Promise<number> {
  const rollup = headers();
  rollup.set('Nats-Rollup', 'sub');
  const published = bus.js.publish(at.entry(entry.name), JSON.stringify(entry), {
    headers: rollup,
    ...(expect ? { expect } : {}),
  });
  return (await orUnavailable(published)).seq;
}

/** By its place, since a purge by subject looks through the whole stream. Where it fails, who sweeps will find it. */
async function dropMessage(bus: Bus, sequence: number): Promise<void> {
  await orUnavailable(bus.jsm.streams.deleteMessage(stream, sequence, false)).catch(() => undefined);
}

/** Gives what the whole says of itself. */
async function writeChunks(
  bus: Bus,
  { id, bytesMax }: { id: string; bytesMax: number },
  chunks: AsyncIterable<Uint8Array>,
): Promise<Pick<Entry, 'size' | 'chunks' | 'digest'>> {
  const sha256 = createHash('sha256');
  let size = 0;
  let count = 0;
  for await (const chunk of inSizes(chunks, bytesMax)) {
    sha256.update(chunk);
    size += chunk.length;
    count += 1;
    await orUnavailable(bus.js.publish(at.chunks(id), chunk));
  }
  const digest = `SHA-256=${padded(sha256.digest('base64url'))}`;
  return { size, chunks: count, digest };
}

/** The same bytes in pieces of one size, the last one excepted. */
async function* inSizes(chunks: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let kept: Uint8Array[] = [];
  let room = bytes;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      const piece = chunk.subarray(from, from + room);
      kept.push(piece);
      from += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      yield Buffer.concat(kept);
      kept = [];
      room = bytes;
    }
  }
  if (kept.length > 0) yield Buffer.concat(kept);
}

/** What is stored under a reference, or undefined. The caller checks that the reference belongs to its run. */
export async function openResult(bus: Bus, ref: string): Promise<StoredResult | undefined> {
  const entry = await entryOf(bus, ref);
  return entry && { bytes: entry.size, contentType: entry.metadata.contentType, chunks: chunksOf(bus, entry) };
}

async function* chunksOf(bus: Bus, { nuid: id, chunks: count }: Entry): AsyncGenerator<Uint8Array> {
  const subject = at.chunks(id);
  let seq = 1;
  for (let read = 0; read < count; read += 1) {
    const query = { seq, next_by_subj: subject };
    const message =
      (await orUnavailable(bus.jsm.direct.getMessage(stream, query))) ??
      // A replica that lags behind doesn't have it yet; the leader has.
      (await orUnavailable(bus.jsm.streams.getMessage(stream, query)));
    if (!message) throw new UnavailableError('a stored result was replaced or removed while it was read');
    seq = message.seq + 1;
    yield message.data;
  }
}

/** Removes a stored result with its name; nothing happens where there is none. Throws `UnavailableError`. */
export async function removeResult(bus: Bus, ref: string): Promise<void> {
  const found = await findEntry(bus, ref);
  if (!found) return;
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.chunks(found.entry.nuid) }));
  // Not the entry of whoever was quicker to put another one in its place.
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.entry(ref), seq: found.sequence + 1 }));
}

async function dropEntry(bus: Bus, name: string): Promise<void> {
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.entry(name) }));
}

async function entryOf(bus: Bus, name: string): Promise<Entry | undefined> {
  const entry = (await findEntry(bus, name))?.entry;
  // Clients of object stores leave the names of what they delete.
  return entry?.deleted === true ? undefined : entry;
}

async function findEntry(bus: Bus, name: string): Promise<{ entry: Entry; sequence: number } | undefined> {
  const message = await orUnavailable(bus.jsm.streams.getMessage(stream, { last_by_subj: at.entry(name) }));
  if (!message) return undefined;
  const entry = message.json<Entry>();
  return { entry: { ...entry, metadata: entry.metadata ?? {} }, sequence: message.seq };
}

/**
 * Removes all that one call has left, whatever its observation says of it: the whole result under `<app>/<runId>/<m>/<i>`, the same as
 * plain text, and its pictures and files. Throws `UnavailableError`.
 */
export async function removeCallResults(bus: Bus, ref: string): Promise<void> {
  const mediaOf = (number: number) => `${ref}/media-${number}`;
  let count = 0;
  while (await entryOf(bus, mediaOf(count))) count += 1;
  // The last first, so that who was interrupted finds all that are left.
  for (let number = count - 1; number >= 0; number -= 1) await removeResult(bus, mediaOf(number));
  await removeResult(bus, `${ref}/text`);
  await removeResult(bus, ref);
}

/** Removes a staged result, but not its bytes where they are another's by now. */
export async function dropStaged(bus: Bus, { name, id, metadata: { heir } }: ObjectEntry): Promise<void> {
  const isAdopted = heir !== undefined && (await entryOf(bus, heir))?.nuid === id;
  if (isAdopted) await dropEntry(bus, name);
  else await removeResult(bus, name);
}
