/**
 * `fetch` for MCP over HTTP: only to addresses that tools may reach, with no more than the cap taken of any message, and
 * closed at once when the call that it belongs to is broken off.
 */
import { Agent, fetch as undiciFetch, type RequestInit as UndiciRequestInit } from 'undici';
import type { FetchLike } from '@modelcontextprotocol/client';
import type { Targets } from '../http/targets.ts';
import { TargetNotAllowedError } from '../http/targets.ts';
import { guardedMessage, requestOf, tooLargeReply, type MessageId } from './reply-guard.ts';

export type GuardedFetch = {
  fetch: FetchLike;
  close(): Promise<void>;
};

export type GuardedFetchOptions = {
  targets: Targets;
  bytesMax: number;
  /** The signal of the call that is being made, whose request is closed when it is aborted. */
  callSignal(): AbortSignal | undefined;
};

const connectTimeoutMs = 10_000;

export function createGuardedFetch({ targets, bytesMax, callSignal }: GuardedFetchOptions): GuardedFetch {
  const dispatcher = new Agent({
    connect: { lookup: targets.lookup, timeout: connectTimeoutMs },
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
      const ofCall = request?.method === 'tools/call' ? callSignal() : undefined;
      const signals = [init?.signal, ofCall].filter((signal) => signal != null);
      const response = await undiciFetch(target, {
        ...(init as unknown as UndiciRequestInit),
        dispatcher,
        ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
      });
      return await guarded(response, request?.id, bytesMax);
    },
    close: () => dispatcher.destroy(),
  };
}

async function guarded(response: Response, id: MessageId | undefined, bytesMax: number): Promise<Response> {
  const type = (response.headers.get('content-type') ?? '').toLowerCase();
  if (!response.body || response.status === 204) return response;
  const head = { status: response.status, statusText: response.statusText, headers: response.headers };
  if (type.startsWith('text/event-stream')) {
    return withUrl(new Response(response.body.pipeThrough(guardedEvents(id, bytesMax)), head), response.url);
  }
  const text = await readUpTo(response, bytesMax);
  if (text === undefined && id === undefined) throw new Error(`an answer with more than ${bytesMax} bytes`);
  const isMessage = type.startsWith('application/json') && response.ok;
  const body = text === undefined ? tooLargeReply(id ?? 0, bytesMax) : isMessage ? guardedMessage(text, id) : text;
  return withUrl(new Response(body, text === undefined ? { ...head, status: 200 } : head), response.url);
}

/** A made response has no address of its own; the library looks at it. */
function withUrl(response: Response, url: string): Response {
  Object.defineProperty(response, 'url', { value: url });
  return response;
}

async function readUpTo(response: Response, bytesMax: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Passes whole events on, each with its data guarded; ends the stream when one is too large. */
function guardedEvents(id: MessageId | undefined, bytesMax: number): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let pieces: string[] = [];
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length;
      if (size > bytesMax) {
        if (id !== undefined) controller.enqueue(encoder.encode(`data: ${tooLargeReply(id, bytesMax)}\n\n`));
        pieces = [];
        controller.terminate();
        return;
      }
      const text = decoder.decode(chunk, { stream: true });
      pieces.push(text);
      // Only a chunk with a line end can end an event.
      if (!/[\r\n]/.test(text)) return;
      const { events, rest } = splitEvents(pieces.join(''));
      pieces = rest === '' ? [] : [rest];
      size = Buffer.byteLength(rest);
      for (const event of events) controller.enqueue(encoder.encode(guardedEvent(event, id)));
    },
    flush(controller) {
      const rest = pieces.join('');
      if (rest !== '') controller.enqueue(encoder.encode(guardedEvent(rest, id)));
    },
  });
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
