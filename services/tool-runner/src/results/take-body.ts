/**
 * Reads what a tool says, up to a cap into memory. What is longer goes on, piece by piece, to where results are kept, and is cut where
 * that ends. This is the one place where a result may grow large, so that no kind holds more of it than the cap.
 */
import type { Stored } from '../call/outcome.ts';
import { letGoOfBuffers } from './let-go.ts';
import type { ResultPart, Spool } from './result-store.ts';

export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

export type TakeOptions = {
  /** Bytes in memory at the most. */
  bytesMax: number;
  /** Without it, what is longer than that is refused with `ResponseTooLargeError`. */
  spool: Spool | undefined;
  /** What a long one is stored as. */
  part: ResultPart | (() => ResultPart);
  /** Called for each piece that comes. */
  onLife?: () => void;
};

export type Body = { bytes: Buffer } | { stored: Stored };

/** Bytes in memory. */
export function sizeOf(body: Body): number {
  return 'bytes' in body ? body.bytes.length : 0;
}

/** Throws what `chunks` throws, what the store throws, or `ResponseTooLargeError`. Stops reading at the end of what is kept. */
export async function takeBody(
  chunks: AsyncIterable<Uint8Array>,
  { bytesMax, spool, part, onLife }: TakeOptions,
): Promise<Body> {
  const iterator = chunks[Symbol.asyncIterator]();
  const kept: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done === true) return { bytes: Buffer.concat(kept) };
    onLife?.();
    size += value.length;
    kept.push(value);
    if (size > bytesMax) break;
  }
  if (!spool) {
    await iterator.return?.();
    throw new ResponseTooLargeError(`more than ${bytesMax} bytes`);
  }
  return {
    stored: await storeRest(goOn(kept, iterator, onLife), { spool, part: typeof part === 'function' ? part() : part }),
  };
}

/** What was kept, let go of piece by piece, and then the rest. */
async function* goOn(
  kept: Uint8Array[],
  iterator: AsyncIterator<Uint8Array>,
  onLife: (() => void) | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = kept.shift(); next !== undefined; next = kept.shift()) yield next;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done === true) return;
      onLife?.();
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

const letGoEveryBytes = 4 * 1024 * 1024;

/** Characters of each end that are shown of what was stored; models see less. */
const endBytes = 64 * 1024;

/** Stores all that comes, up to the spool's limit. */
export async function storeRest(
  chunks: AsyncIterable<Uint8Array>,
  { spool, part }: { spool: Spool; part: ResultPart },
): Promise<Stored> {
  const ends = createEnds();
  let isCut = false;
  let letGoAtBytes = letGoEveryBytes;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      if (ends.bytes() >= letGoAtBytes) {
        letGoOfBuffers();
        letGoAtBytes += letGoEveryBytes;
      }
      const room = spool.bytesMax - ends.bytes();
      isCut = chunk.length > room;
      const piece = isCut ? chunk.subarray(0, room) : chunk;
      ends.add(piece);
      yield piece;
      if (isCut) return;
    }
  }
  const ref = await spool.put(part, counted());
  return { kind: 'stored', ref, bytes: ends.bytes(), isCut, ...ends.texts() };
}

export type Ends = { add(chunk: Uint8Array): void; bytes(): number; texts(): { head: string; tail: string } };

/** Keeps the first and the last of what comes. */
export function createEnds(): Ends {
  let bytes = 0;
  let head: Buffer = Buffer.alloc(0);
  let tail: Buffer = Buffer.alloc(0);
  return {
    bytes: () => bytes,
    add(chunk) {
      bytes += chunk.length;
      if (head.length < endBytes) head = Buffer.concat([head, chunk.subarray(0, endBytes - head.length)]);
      tail = Buffer.concat([tail, chunk.subarray(-endBytes)]).subarray(-endBytes);
    },
    texts: () => ({ head: wellFormed(head), tail: wellFormed(tail) }),
  };
}

/** Characters that an end cuts through are left out. */
function wellFormed(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/^\uFFFD{1,3}|\uFFFD{1,3}$/g, '');
}
