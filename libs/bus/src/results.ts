/**
 * Whole results of tools whose observation shows only a part: kept in the object store, written and read piece by piece, so that
 * a large one never has to be in memory. A reference is a path that begins with `<app>/<runId>/`.
 */
import { buckets, UnavailableError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';

/** The store copies what it has for each message of 128 KiB that it sends, so pieces should be small beside that. */
const chunkBytes = 16 * 1024;
const stream = `OBJ_${buckets.results}`;

export type StoredResult = {
  bytes: number;
  /** What was told when it was stored. */
  contentType: string | undefined;
  /** Ends early when nobody reads on. Throws `UnavailableError`. */
  chunks: AsyncIterable<Uint8Array>;
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
  const metadata = contentType === undefined ? {} : { metadata: { contentType } };
  // No limit of time: a tool may take long to say all that it has to say, and its own deadline rules.
  await orUnavailable(bus.results.put({ name: ref, ...metadata }, ReadableStream.from(pieces(chunks))), noLimitMs);
}

const noLimitMs = 2_147_483_647;

/** The store puts together what it is given. */
async function* pieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += chunkBytes) yield chunk.subarray(at, at + chunkBytes);
  }
}

/** What is stored under a reference, or undefined. The caller checks that the reference belongs to its run. */
export async function openResult(bus: Bus, ref: string): Promise<StoredResult | undefined> {
  const info = await orUnavailable(bus.results.info(ref));
  if (!info || info.deleted) return undefined;
  const { nuid, size: bytes, chunks } = info;
  return { bytes, contentType: info.metadata?.['contentType'], chunks: chunksOf(bus, { nuid, count: chunks }) };
}

async function* chunksOf(bus: Bus, { nuid, count }: { nuid: string; count: number }): AsyncGenerator<Uint8Array> {
  const subject = `$O.${buckets.results}.C.${nuid}`;
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

/** Gives a stored result another reference, in the place of what was there. Throws `UnavailableError`. */
export async function moveResult(bus: Bus, from: string, to: string): Promise<void> {
  await orUnavailable(bus.results.delete(to));
  await orUnavailable(bus.results.update(from, { name: to }));
}

/** Removes a stored result; nothing happens where there is none. Throws `UnavailableError`. */
export async function removeResult(bus: Bus, ref: string): Promise<void> {
  await orUnavailable(bus.results.delete(ref));
}

/**
 * Removes all that one call has left, whatever its observation says of it: the whole result under `<app>/<runId>/<m>/<i>`, the same as
 * plain text, and its pictures and files. Throws `UnavailableError`.
 */
export async function removeCallResults(bus: Bus, ref: string): Promise<void> {
  await removeResult(bus, ref);
  await removeResult(bus, `${ref}/text`);
  for (let number = 0; ; number += 1) {
    const media = `${ref}/media-${number}`;
    const info = await orUnavailable(bus.results.info(media));
    if (!info) return;
    await removeResult(bus, media);
  }
}
