/**
 * `fetch` for MCP over HTTP: only to addresses that tools may reach, with no more than the cap taken of any message, and
 * closed at once when the call that it belongs to is broken off.
 */
import { TextDecoder } from 'node:util';
import { Agent, fetch as undiciFetch, type RequestInit as UndiciRequestInit } from 'undici';
import type { FetchLike } from '@modelcontextprotocol/client';
import { TargetNotAllowedError, type Targets } from '@pawl/service/targets';
import { createEventDataReader } from './event-data.ts';
import { takeLongMessage, type LongReplies } from './long-message.ts';
import { guardedMessage, requestOf, tooLargeReply, type MessageId } from './reply-guard.ts';
import type { Stage } from '../../results/result-store.ts';

export type GuardedFetch = {
  fetch: FetchLike;
  close(): Promise<void>;
};

export type GuardedFetchOptions = {
  targets: Targets;
  bytesMax: number;
  stage: Stage;
  /** The call that is being made: its request is closed when its signal is aborted. */
  call(): (LongReplies & { signal: AbortSignal }) | undefined;
};

const connectTimeoutMs = 10_000;

export function createGuardedFetch({ targets, bytesMax, stage, call }: GuardedFetchOptions): GuardedFetch {
  const dispatcher = new Agent({
    connect: targets.connector({ timeout: connectTimeoutMs }),
    // A call's deadline rules, not limits of undici.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async fetch(url, init) {
      const target = new URL(url);
      const problem = targets.problemOf(target);
      if (problem !== undefined) throw new TargetNotAllowedError(problem);
      const request = requestOf(init?.body);
      const ofCall = request?.method === 'tools/call' ? call() : undefined;
      const signals = [init?.signal, ofCall?.signal].filter((signal) => signal != null);
      const response = await undiciFetch(target, {
        ...(init as unknown as UndiciRequestInit),
        dispatcher,
        ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
      });
      ofCall?.onLife();
      return await guarded(response, { id: request?.id, call: ofCall, bytesMax, stage });
    },
    close: () => dispatcher.destroy(),
  };
}

type Guard = {
  /** The request that the response answers. */
  id: MessageId | undefined;
  call: LongReplies | undefined;
  bytesMax: number;
  stage: Stage;
};

async function guarded(response: Response, guard: Guard): Promise<Response> {
  const type = (response.headers.get('content-type') ?? '').toLowerCase();
  if (!response.body || response.status === 204) return response;
  const head = { status: response.status, statusText: response.statusText, headers: response.headers };
  const chunks = alive(response.body, guard.call);
  if (type.startsWith('text/event-stream')) {
    return withUrl(new Response(ReadableStream.from(guardedEvents(chunks, guard)), head), response.url);
  }
  const read = await readUpTo(chunks, guard.bytesMax);
  if (typeof read === 'string') {
    const isMessage = type.startsWith('application/json') && response.ok;
    return withUrl(new Response(isMessage ? guardedMessage(read, guard.id) : read, head), response.url);
  }
  if (guard.id === undefined) throw new Error(`an answer with more than ${guard.bytesMax} bytes`);
  return withUrl(new Response(await longReply(read, guard), { ...head, status: 200 }), response.url);
}

/** What a message that is too long becomes; without a place for it, it is not even read to its end. */
async function longReply(chunks: AsyncIterable<Uint8Array>, { id, call, bytesMax, stage }: Guard): Promise<string> {
  const expectedId = id ?? 0;
  if (!call?.spool) {
    await chunks[Symbol.asyncIterator]().return?.();
    return tooLargeReply(expectedId, bytesMax);
  }
  const message = { bytesMax, expectedId, callOf: () => call, stage };
  return (await takeLongMessage(chunks, message)) ?? tooLargeReply(expectedId, bytesMax);
}

async function* alive(chunks: AsyncIterable<Uint8Array>, call: LongReplies | undefined): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    call?.onLife();
    yield chunk;
  }
}

/** A made response has no address of its own; the library looks at it. */
function withUrl(response: Response, url: string): Response {
  Object.defineProperty(response, 'url', { value: url });
  return response;
}

/** The text, or, where it is longer than the cap, all of its chunks. */
async function readUpTo(
  chunks: AsyncGenerator<Uint8Array>,
  bytesMax: number,
): Promise<string | AsyncGenerator<Uint8Array>> {
  const kept: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true) return Buffer.concat(kept).toString('utf8');
    size += value.length;
    kept.push(value);
    if (size > bytesMax) return joined(kept, chunks);
  }
}

async function* joined(kept: Uint8Array[], rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (let next = kept.shift(); next !== undefined; next = kept.shift()) yield next;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/** Passes whole events on, each with its data guarded; one that is too long is taken piece by piece. */
async function* guardedEvents(chunks: AsyncGenerator<Uint8Array>, guard: Guard): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let pieces: string[] = [];
  let size = 0;
  for await (const chunk of untilDone(chunks)) {
    size += chunk.length;
    const text = decoder.decode(chunk, { stream: true });
    pieces.push(text);
    if (size > guard.bytesMax) {
      const long = longEvent(pieces, { chunks, decoder });
      const reply = guard.id === undefined ? undefined : await longReply(long.data, guard);
      if (reply !== undefined) yield encoder.encode(`data: ${reply}\n\n`);
      if (reply === undefined || long.rest() === undefined) return;
      pieces = [long.rest() ?? ''];
      size = Buffer.byteLength(pieces[0] ?? '');
    }
    // Only a chunk with a line end can end an event.
    if (!/[\r\n]/.test(pieces.at(-1) ?? '')) continue;
    const { events, rest } = splitEvents(pieces.join(''));
    pieces = rest === '' ? [] : [rest];
    size = Buffer.byteLength(rest);
    for (const event of events) yield encoder.encode(guardedEvent(event, guard.id));
  }
  const rest = pieces.join('');
  if (rest !== '') yield encoder.encode(guardedEvent(rest, guard.id));
}

/** A generator that is left in the middle would be closed by `for await`; here others read on in it. */
async function* untilDone(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done === true) return;
      yield value;
    }
  } finally {
    await chunks.return(undefined);
  }
}

type EventStream = { chunks: AsyncGenerator<Uint8Array>; decoder: TextDecoder };

/** The data of the event that `pieces` begin, as it comes, and the text behind its end once it has been read. */
function longEvent(
  pieces: string[],
  { chunks, decoder }: EventStream,
): { data: AsyncGenerator<Uint8Array>; rest(): string | undefined } {
  const reader = createEventDataReader();
  let rest: string | undefined;
  async function* data(): AsyncGenerator<Uint8Array> {
    for (let piece = pieces.shift(); rest === undefined && piece !== undefined;) {
      const read = reader.write(piece);
      rest = read.rest;
      if (read.data !== '') yield Buffer.from(read.data);
      const next = pieces.length > 0 ? undefined : rest === undefined ? await chunks.next() : undefined;
      piece = next?.done === false ? decoder.decode(next.value, { stream: true }) : pieces.shift();
    }
  }
  return { data: data(), rest: () => rest };
}

/** Events end with an empty line; lines end with LF, CRLF or CR. */
function splitEvents(text: string): { events: string[]; rest: string } {
  const events: string[] = [];
  const boundary = /\r\n\r\n|\n\n|\r\r(?!\n)|\n\r\n/g;
  let from = 0;
  for (const match of text.matchAll(boundary)) {
    const end = match.index + match[0].length;
    events.push(text.slice(from, end));
    from = end;
  }
  return { events, rest: text.slice(from) };
}

function guardedEvent(event: string, id: MessageId | undefined): string {
  const lines = event.split(/\r\n|\n|\r/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''));
  if (data.length === 0) return event;
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  // JSON has no line ends outside of texts, and none in them, so one line holds it.
  const guardedData = guardedMessage(data.join('\n'), id).replaceAll(/[\r\n]+/g, ' ');
  return `${[...others, `data: ${guardedData}`].join('\n')}\n\n`;
}
