/** Reads the body of an OTLP request, plain or gzip. What it takes of memory is counted as it comes, by whoever sent it how. */
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { RejectedError } from '@pawl/contracts';
import type { Visit } from '@pawl/service';

/** Bytes of a request, before and after it was unpacked. */
export const requestBytesMax = 64 * 1_048_576;

/** The bytes of a request to its end. Throws `RejectedError`; the rest of what is refused is let by, so that its sender reads why. */
export async function readRequest(source: Readable, visit: Visit): Promise<Buffer> {
  try {
    // A stream that is destroyed takes its connection with it, and nobody would be told why.
    return await collect(source.iterator({ destroyOnReturn: false }), visit);
  } catch (error) {
    source.resume();
    if (error instanceof RejectedError) throw error;
    throw new RejectedError('invalid_request', 'the request broke off');
  }
}

/** Throws `RejectedError`. */
export async function unpackRequest(body: Buffer, encoding: string | undefined, visit: Visit): Promise<Buffer> {
  const packed = encoding?.trim().toLowerCase() ?? '';
  if (packed === 'identity' || packed === '') return body;
  if (packed !== 'gzip') throw new RejectedError('unsupported_media_type', 'content-encoding: only gzip is taken');
  try {
    return await collect(createGunzip().end(body), visit);
  } catch (error) {
    if (error instanceof RejectedError) throw error;
    throw new RejectedError('invalid_request', 'the body is no gzip');
  }
}

async function collect(chunks: AsyncIterable<Buffer>, visit: Visit): Promise<Buffer> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > requestBytesMax) throw new RejectedError('body_too_large', 'a request has 64 MiB at the most');
    visit.grow(chunk.length);
    kept.push(chunk);
  }
  return Buffer.concat(kept, size);
}
