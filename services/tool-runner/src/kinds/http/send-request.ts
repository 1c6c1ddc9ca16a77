/**
 * Sends one HTTP request and reads its answer up to a cap, following at most three redirects.
 * Every hop is checked anew; declared headers, which may hold credentials, stay with the first origin. Who redirects may have done
 * what was asked for, and says then where to read about it.
 */
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { request as undiciRequest, type Dispatcher } from 'undici';
import { ResponseTooLargeError, storeRest, takeBody } from '../../results/take-body.ts';
import type { Spool } from '../../results/result-store.ts';
import type { HttpAnswer } from './http-answer.ts';
import { decoderOf, isJson, isTextual, isUtf8, mediaType } from './media-types.ts';
import type { HttpRequest } from './http-request.ts';
import { TargetNotAllowedError, type Targets } from '@pawl/service/targets';

const redirectsMax = 3;

export type SendOptions = {
  dispatcher: Dispatcher;
  targets: Targets;
  /** Headers that every hop gets. */
  openHeaders: Record<string, string>;
  /** Headers for the first origin only. */
  ownHeaders: Record<string, string>;
  bytesMax: number;
  /** Where an answer goes that is too large to hold, or no text. */
  spool: Spool | undefined;
  onLife: () => void;
  /** Called when a server has answered such that it may have acted, whatever comes of what it redirects to. */
  onMayHaveActed: () => void;
  signal: AbortSignal;
};

export class BadRedirectError extends Error {
  override readonly name = 'BadRedirectError';
}

/** Throws what the connection throws, `TargetNotAllowedError`, `ResponseTooLargeError` or `BadRedirectError`. */
export async function sendRequest(first: HttpRequest, options: SendOptions): Promise<HttpAnswer> {
  let hop = first;
  for (let redirects = 0; ; redirects += 1) {
    const problem = options.targets.problemOf(hop.url);
    if (problem !== undefined) throw new TargetNotAllowedError(problem);
    const response = await sendHop(hop, first, options);
    const location = headerOf(response.headers['location']);
    if (!isRedirect(response.statusCode) || location === undefined) return await readAnswer(response, options);
    if (!isSentOn(response.statusCode)) options.onMayHaveActed();
    await response.body.dump({ limit: 65_536 }).catch(() => {});
    if (redirects === redirectsMax) throw new BadRedirectError(`The tool redirected more than ${redirectsMax} times.`);
    hop = nextHop(hop, response.statusCode, location);
  }
}

async function sendHop(hop: HttpRequest, first: HttpRequest, options: SendOptions): Promise<Dispatcher.ResponseData> {
  const isFirstOrigin = hop.url.origin === first.url.origin;
  return await undiciRequest(hop.url, {
    method: hop.method,
    dispatcher: options.dispatcher,
    signal: options.signal,
    headers: {
      ...options.openHeaders,
      ...(hop.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(isFirstOrigin ? options.ownHeaders : {}),
    },
    ...(hop.body === undefined ? {} : { body: hop.body }),
    // The call's deadline rules, not undici's own limits.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Says that the very request belongs elsewhere, so that nothing was done with it here. */
function isSentOn(status: number): boolean {
  return status === 307 || status === 308;
}

/** As browsers do it: 303, and 301 or 302 after a POST, become a GET without a body; 307 and 308 repeat the request. */
function nextHop(hop: HttpRequest, status: number, location: string): HttpRequest {
  const url = URL.parse(location, hop.url.href);
  if (!url) throw new BadRedirectError('The tool redirected to something that is not an address.');
  if (hop.url.protocol === 'https:' && url.protocol === 'http:') {
    throw new BadRedirectError('The tool redirected from https to http.');
  }
  const becomesGet =
    (status === 303 && hop.method !== 'GET') || ((status === 301 || status === 302) && hop.method === 'POST');
  return becomesGet ? { method: 'GET', url, body: undefined } : { ...hop, url };
}

async function readAnswer(response: Dispatcher.ResponseData, options: SendOptions): Promise<HttpAnswer> {
  const status = response.statusCode;
  const contentType = headerOf(response.headers['content-type']);
  const told = { status, contentType, retryAfter: headerOf(response.headers['retry-after']) };
  const { bytesMax, spool, onLife } = options;
  const announced = Number(headerOf(response.headers['content-length']) ?? 0);
  const tooLarge = () => new ResponseTooLargeError(`HTTP ${status} with more than ${bytesMax} bytes`);
  const isShort = status < 400 && announced <= bytesMax && isTextual(mediaType(contentType)) && isUtf8(contentType);
  const arrived = isShort ? bodyArrived(response, announced) : undefined;
  if (arrived) return { ...told, isUtf8: true, body: { bytes: arrived } };
  try {
    // Of what says why it failed, the beginning is enough.
    if (status >= 400) return { ...told, body: { bytes: await beginningOf(decoded(response)) } };
    if (!spool && announced > bytesMax) throw tooLarge();
    const type = mediaType(contentType);
    if (!isTextual(type) && spool) {
      const part = { format: 'media', contentType: type, number: 0 } as const;
      return { ...told, body: { stored: await storeRest(alive(decoded(response), onLife), { spool, part }) } };
    }
    const part = { format: isJson(type) ? 'json' : 'text' } as const;
    const text = isUtf8(contentType) ? decoded(response) : transcoded(decoded(response), contentType);
    return { ...told, isUtf8: true, body: await takeBody(text, { bytesMax, spool, part, onLife }) };
  } catch (error) {
    throw error instanceof ResponseTooLargeError ? tooLarge() : error;
  } finally {
    // What wasn't read to its end is hung up.
    response.body.on('error', () => {}).destroy();
  }
}

/** All of a body, where it is here already: that of a short answer comes in one piece with its head. */
function bodyArrived({ headers, body }: Dispatcher.ResponseData, announced: number): Buffer | undefined {
  const isHere = announced > 0 && body.readableLength === announced && headers['content-encoding'] === undefined;
  return isHere ? (body.read() as Buffer) : undefined;
}

const beginningBytes = 64 * 1024;

async function beginningOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    kept.push(chunk);
    size += chunk.length;
    if (size >= beginningBytes) break;
  }
  return Buffer.concat(kept);
}

async function* alive(chunks: AsyncIterable<Buffer>, onLife: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onLife();
    yield chunk;
  }
}

/** Identity was asked for; some servers compress all the same. The cap counts what comes out, not what comes in. */
function decoded(response: Dispatcher.ResponseData): AsyncIterable<Buffer> {
  const encoding = headerOf(response.headers['content-encoding'])?.trim().toLowerCase();
  const decoder =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'br'
        ? createBrotliDecompress()
        : encoding === 'deflate'
          ? createInflate()
          : undefined;
  return decoder ? pipeline(response.body, decoder, () => {}) : response.body;
}

async function* transcoded(chunks: AsyncIterable<Buffer>, contentType: string | undefined): AsyncGenerator<Buffer> {
  const decoder = decoderOf(contentType);
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
