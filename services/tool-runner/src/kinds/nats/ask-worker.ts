/**
 * One request to a worker, and its reply in one message or in numbered parts, each acknowledged once it has been taken.
 * Each request has an inbox of its own, so that no reply can be taken for another call's (C17).
 * A call that is broken off is told to the workers of its subject, whoever has it.
 */
import { subjects } from '@pawl/contracts';
import { headers, type Msg, type MsgHdrs } from '@nats-io/nats-core';
import type { Bus } from '@pawl/bus';
import { createPushSource, type PushSource } from '../../results/push-source.ts';
import type { Spool } from '../../results/result-store.ts';
import { takeBody } from '../../results/take-body.ts';
import type { WorkerReply } from './worker-reply.ts';

export type WorkerRequest = {
  subject: string;
  /** Tells this try of a call apart from all others. */
  callId: string;
  headers: Record<string, string>;
  body: string;
};

export type AskOptions = {
  bus: Pick<Bus, 'connection' | 'createInbox'>;
  bytesMax: number;
  spool: Spool | undefined;
  onLife: () => void;
  signal: AbortSignal;
};

export class NobodyListensError extends Error {
  override readonly name = 'NobodyListensError';
}
export class BrokenReplyError extends Error {
  override readonly name = 'BrokenReplyError';
}

/** Parts that were sent and not taken yet, at the most. Workers that wait for each to be taken never get near it. */
const pendingBytesMax = 16 * 1024 * 1024;

/** Throws the signal's reason, `ResponseTooLargeError`, what the store throws, or one of the errors above. */
export async function askWorker(request: WorkerRequest, options: AskOptions): Promise<WorkerReply> {
  const { bus, signal } = options;
  const { connection } = bus;
  signal.throwIfAborted();
  const inbox = bus.createInbox();
  const source = createPushSource(pendingBytesMax);
  const parts = createPartReader(source);
  const subscription = connection.subscribe(inbox, {
    callback: (error, message) => (error ? source.fail(error) : parts.take(message)),
  });
  const onAbort = () => source.fail(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let isTold = false;
  try {
    connection.publish(request.subject, request.body, { reply: inbox, headers: headersOf(request) });
    const reply = await readReply(source, parts, options);
    isTold = parts.isLast();
    return reply;
  } catch (error) {
    isTold = error instanceof NobodyListensError;
    throw error;
  } finally {
    // Whoever has the call, or will have it, is told that nobody waits any more.
    if (!isTold && !connection.isClosed()) {
      connection.publish(subjects.toolCancelled(request.subject), '', { headers: callHeaders(request.callId) });
    }
    signal.removeEventListener('abort', onAbort);
    subscription.unsubscribe();
  }
}

async function readReply(
  source: PushSource,
  parts: PartReader,
  { bytesMax, spool, onLife }: AskOptions,
): Promise<WorkerReply> {
  const body = await takeBody(source, { bytesMax, spool, part: () => ({ format: parts.format() }), onLife });
  const error = parts.error();
  if ('bytes' in body && !source.isCut()) return { body, ...(error ? { error } : {}) };
  if ('bytes' in body) throw new BrokenReplyError('the reply came faster than it could be taken');
  return {
    body: { stored: { ...body.stored, isCut: body.stored.isCut || source.isCut() } },
    ...(error ? { error } : {}),
  };
}

function headersOf(request: WorkerRequest): MsgHdrs {
  const all = callHeaders(request.callId);
  for (const [name, value] of Object.entries(request.headers)) all.set(name, value);
  return all;
}

function callHeaders(callId: string): MsgHdrs {
  const all = headers();
  all.set('pawl-call-id', callId);
  return all;
}

type PartReader = {
  take(message: Msg): void;
  /** JSON texts begin with a bracket; anything else is a text. */
  format(): 'json' | 'text';
  isLast(): boolean;
  error(): WorkerReply['error'];
};

/** Puts the parts of a reply in their order into a source, and notes what their headers say. */
function createPartReader(source: PushSource): PartReader {
  let count = 0;
  let isLast = false;
  let first: number | undefined;
  let error: WorkerReply['error'];
  return {
    format: () => (first === 0x5b || first === 0x7b ? 'json' : 'text'),
    isLast: () => isLast,
    error: () => error,
    take(message) {
      const { headers: told, data } = message;
      if (told?.code === 503 && data.length === 0) return source.fail(new NobodyListensError('no worker listens'));
      const part = told?.get('pawl-part') ?? '';
      if (part !== '' && Number(part) !== count) {
        return source.fail(new BrokenReplyError(`part ${part} came where ${count} was due`));
      }
      count += 1;
      first ??= data.find((byte) => byte > 0x20);
      isLast = part === '' || told?.get('pawl-part-last') === 'true';
      const code = told?.get('Nats-Service-Error-Code') ?? '';
      if (code !== '') error = { code, message: told?.get('Nats-Service-Error') ?? '' };
      const isAcknowledged = (message.reply ?? '') !== '';
      source.push(data, isAcknowledged ? () => void message.respond() : undefined);
      if (isLast) source.end();
    },
  };
}
