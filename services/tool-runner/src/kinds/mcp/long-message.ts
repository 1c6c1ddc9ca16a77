/**
 * A message of an MCP server that is longer than the cap. Its result goes, piece by piece, to where results are kept, and the client
 * library gets a short reply in its place. Only a reply to the call that it came for is taken (C17); anything else is dropped.
 */
import type { Stored } from '../../call/outcome.ts';
import { createPartReader, type TextSink } from '../../results/json-parts.ts';
import { letGoOfBuffers } from '../../results/let-go.ts';
import type { Spool, Stage } from '../../results/result-store.ts';
import { createEnds } from '../../results/take-body.ts';
import { errorReply, guardCodes, tooLargeReply, type MessageId } from './reply-guard.ts';

/** What a call gets of a long reply. */
export type LongReplies = {
  spool: Spool | undefined;
  onLife(): void;
  /** Whether the call has ended, so that no reply is for it any more. */
  isOver: boolean;
  /** The one long result that came for the call, and whether it says that the tool failed. */
  long: { stored: Stored; isError: boolean } | undefined;
};

export type LongMessage = {
  bytesMax: number;
  /** The request that the message has to answer; undefined where several are answered on one stream. */
  expectedId: MessageId | undefined;
  /** The call that a request belongs to. */
  callOf(id: MessageId): LongReplies | undefined;
  /** Without it, the message is only read past. */
  stage: Stage | undefined;
};

const storedBytesMax = 64 * 1024 * 1024;
const letGoEveryBytes = 4 * 1024 * 1024;
/** A message is read to its end, for its id may come last; up to here. */
const readBytesMax = 4 * storedBytesMax;

/** The reply that the library gets; undefined where nobody waits for the message. Throws what `chunks` and the store throw. */
export async function takeLongMessage(
  chunks: AsyncIterable<Uint8Array>,
  message: LongMessage,
): Promise<string | undefined> {
  const read = await stageResult(chunks, message);
  const id = idOf(read.idText) ?? (read.isCut ? message.expectedId : undefined);
  const call = id === undefined ? undefined : message.callOf(id);
  const isExpected = message.expectedId === undefined || id === message.expectedId;
  if (id === undefined || read.staged === undefined || !call?.spool || !isExpected || read.bytes === 0) {
    if (read.staged !== undefined) await call?.spool?.drop(read.staged);
    const { expectedId, bytesMax } = message;
    if (expectedId === undefined) return id === undefined ? undefined : tooLargeReply(id, bytesMax);
    return isExpected
      ? tooLargeReply(expectedId, bytesMax)
      : errorReply(expectedId, guardCodes.otherRequest, 'a reply to another request came in the place of this one');
  }
  const ref = await call.spool.adopt({ format: 'json' }, read.staged);
  const { bytes, isCut, head, tail } = read;
  call.long = { stored: { kind: 'stored', ref, bytes, isCut, head, tail }, isError: read.isErrorText === 'true' };
  return JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content: [] } });
}

type Staged = {
  staged: string | undefined;
  bytes: number;
  isCut: boolean;
  head: string;
  tail: string;
  idText: string;
  isErrorText: string;
};

async function stageResult(chunks: AsyncIterable<Uint8Array>, { stage }: LongMessage): Promise<Staged> {
  const ends = createEnds();
  const id = shortText();
  const isError = shortText();
  let isCut = false;
  async function* resultBytes(): AsyncGenerator<Uint8Array> {
    const pieces: string[] = [];
    const result = createPartReader(['result'], { write: (piece) => void pieces.push(piece), end: () => {} });
    const readers: TextSink[] = [
      result,
      createPartReader(['id'], id),
      createPartReader(['result', 'isError'], isError),
    ];
    const decoder = new TextDecoder();
    let read = 0;
    for await (const chunk of chunks) {
      if (Math.floor((read + chunk.length) / letGoEveryBytes) > Math.floor(read / letGoEveryBytes)) letGoOfBuffers();
      read += chunk.length;
      const text = decoder.decode(chunk, { stream: true });
      for (const reader of readers) reader.write(text);
      for (const bytes of pieces.splice(0).map((piece) => Buffer.from(piece))) {
        if (isCut) break;
        const room = storedBytesMax - ends.bytes();
        isCut = bytes.length > room;
        ends.add(bytes.subarray(0, room));
        yield bytes.subarray(0, room);
      }
      if (read > readBytesMax) {
        isCut = true;
        break;
      }
    }
    for (const reader of readers) reader.end();
  }
  const staged = stage ? await stage(resultBytes()) : await readPast(resultBytes());
  return { staged, bytes: ends.bytes(), isCut, ...ends.texts(), idText: id.text(), isErrorText: isError.text() };
}

async function readPast(chunks: AsyncIterable<Uint8Array>): Promise<undefined> {
  const iterator = chunks[Symbol.asyncIterator]();
  while ((await iterator.next()).done !== true);
}

/** Keeps a text of which little is expected. */
function shortText(): TextSink & { text(): string } {
  let text = '';
  return { write: (piece) => void (text = (text + piece).slice(0, 200)), end: () => {}, text: () => text };
}

function idOf(text: string): MessageId | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return /^"[^"\\]{1,150}"$/.test(text) ? text.slice(1, -1) : undefined;
}
