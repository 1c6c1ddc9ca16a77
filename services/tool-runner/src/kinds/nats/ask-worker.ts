/**
 * One request to a worker, and its reply in one message or in numbered parts, read up to a cap.
 * Each request has an inbox of its own, so that no reply can be taken for another call's (C17).
 * A call that is broken off is told to the workers of its subject, whoever has it.
 */
import { headers, type Msg, type MsgHdrs } from '@nats-io/nats-core';
import type { Bus } from '@pawl/bus';
import type { WorkerReply } from './worker-reply.ts';

export type WorkerRequest = {
  subject: string;
  /** Tells this try of a call apart from all others. */
  callId: string;
  headers: Record<string, string>;
  body: string;
};

export type AskOptions = { bus: Pick<Bus, 'connection' | 'createInbox'>; bytesMax: number; signal: AbortSignal };

export class NobodyListensError extends Error {
  override readonly name = 'NobodyListensError';
}
export class ReplyTooLargeError extends Error {
  override readonly name = 'ReplyTooLargeError';
}
export class BrokenReplyError extends Error {
  override readonly name = 'BrokenReplyError';
}

/** Throws the signal's reason, or one of the errors above. */
export async function askWorker(request: WorkerRequest, { bus, bytesMax, signal }: AskOptions): Promise<WorkerReply> {
  signal.throwIfAborted();
  const { connection } = bus;
  const inbox = bus.createInbox();
  const { promise, resolve, reject } = Promise.withResolvers<WorkerReply>();
  const parts = createPartReader(bytesMax);
  const subscription = connection.subscribe(inbox, {
    callback: (error, message) => {
      try {
        if (error) throw error;
        const reply = parts.read(message);
        if (reply) resolve(reply);
      } catch (problem) {
        reject(problem);
      }
    },
  });
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    connection.publish(request.subject, request.body, { reply: inbox, headers: headersOf(request) });
    return await promise;
  } catch (error) {
    // Whoever has the call, or will have it, is told that nobody waits any more.
    if (!(error instanceof NobodyListensError) && !connection.isClosed()) {
      connection.publish(cancelSubject(request.subject), '', { headers: callHeaders(request.callId) });
    }
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    subscription.unsubscribe();
  }
}

/** Where workers of a subject hear that a call, named by `pawl-call-id`, is not wanted any more. */
export function cancelSubject(subject: string): string {
  return `pawl.toolcancel.${subject}`;
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

/** Puts the parts of a reply together; undefined until the last one is there. */
function createPartReader(bytesMax: number): { read(message: Msg): WorkerReply | undefined } {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    read(message) {
      const { headers: told } = message;
      if (told?.code === 503 && message.data.length === 0) throw new NobodyListensError('no worker listens');
      const part = told?.get('pawl-part') ?? '';
      if (part !== '' && Number(part) !== chunks.length) {
        throw new BrokenReplyError(`part ${part} came where ${chunks.length} was due`);
      }
      size += message.data.length;
      if (size > bytesMax) throw new ReplyTooLargeError(`a reply with more than ${bytesMax} bytes`);
      chunks.push(message.data);
      if (part !== '' && told?.get('pawl-part-last') !== 'true') return undefined;
      const code = told?.get('Nats-Service-Error-Code') ?? '';
      const error = code === '' ? undefined : { code, message: told?.get('Nats-Service-Error') ?? '' };
      return { body: Buffer.concat(chunks).toString('utf8'), ...(error ? { error } : {}) };
    },
  };
}
