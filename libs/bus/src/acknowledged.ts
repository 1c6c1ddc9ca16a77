/**
 * Sends messages into streams and waits for the server's word that it has stored them. Every fact and every piece of work takes this
 * way, several in each turn of a run, so it costs one entry in a map beside the message: answers come to one subscription, and one
 * timer watches over all that wait. It tries once; who publishes has the patience.
 */
import { JetStreamApiError, JetStreamError, type ApiError } from '@nats-io/jetstream';
import { errors, type Msg, type MsgHdrs, type NatsConnection, type Subscription } from '@nats-io/nats-core';

export type StreamMessage = { subject: string; payload: Uint8Array; headers: MsgHdrs };

/**
 * Resolves with the message's position in its stream. Rejects with what the server says, and with errors of the client that pass
 * by themselves (`isTransient`): when no stream takes the subject, when the connection is closed, and when no answer comes in time.
 */
export type PublishAcknowledged = (message: StreamMessage) => Promise<number>;

type Refused = InstanceType<typeof errors.PermissionViolationError>;
type Waiting = { subject: string; dueAtMs: number; resolve(sequence: number): void; reject(error: unknown): void };

/** `inbox` is an address that nothing else listens to. An answer that comes after `timeoutMs` is passed over. */
export function createPublishAcknowledged(
  connection: NatsConnection,
  { inbox, timeoutMs }: { inbox: string; timeoutMs: number },
): PublishAcknowledged {
  // In the order in which they are due, since all wait equally long.
  const waiting = new Map<string, Waiting>();
  let published = 0;
  let timer: NodeJS.Timeout | undefined;

  const fail = (error: Error, isMeant: (one: Waiting) => boolean = () => true) => {
    for (const [token, one] of waiting) {
      if (!isMeant(one)) continue;
      waiting.delete(token);
      one.reject(error);
    }
  };
  const expire = () => {
    const nowMs = performance.now();
    fail(new errors.TimeoutError(), ({ dueAtMs }) => dueAtMs <= nowMs);
    const [next] = waiting.values();
    timer = next && setTimeout(expire, next.dueAtMs - nowMs).unref();
  };
  const onAnswer = (error: Error | null, answer: Msg) => {
    if (error) return fail(asRequestError(error));
    const token = answer.subject.slice(inbox.length + 1);
    const one = waiting.get(token);
    if (!waiting.delete(token) || !one) return;
    try {
      one.resolve(sequenceOf(answer, one.subject));
    } catch (failure) {
      one.reject(failure);
    }
  };
  const onRefused = (error: Refused) => fail(asRequestError(error), ({ subject }) => subject === error.subject);
  void followRefusals(connection, onRefused).finally(() => fail(new errors.ClosedConnectionError()));
  let answers: Subscription | undefined;

  return ({ subject, payload, headers }) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const token = String((published += 1));
    try {
      if (answers?.isClosed() ?? true) answers = connection.subscribe(`${inbox}.*`, { callback: onAnswer });
      connection.publish(subject, payload, { headers, reply: `${inbox}.${token}` });
      waiting.set(token, { subject, dueAtMs: performance.now() + timeoutMs, resolve, reject });
      timer ??= setTimeout(expire, timeoutMs).unref();
    } catch (error) {
      reject(error);
    }
    return promise;
  };
}

/** Tells of each subject that this connection may not send to; resolves when it is closed. */
async function followRefusals(connection: NatsConnection, onRefused: (error: Refused) => void): Promise<void> {
  for await (const status of connection.status()) {
    const { error } = status.type === 'error' ? status : {};
    if (error instanceof errors.PermissionViolationError && error.operation === 'publish') onRefused(error);
  }
}

/** What is refused today may be allowed tomorrow. */
function asRequestError(error: Error): Error {
  return new errors.RequestError(error.message, { cause: error });
}

const textDecoder = new TextDecoder();

function sequenceOf(answer: Msg, subject: string): number {
  if (answer.data.length === 0 && answer.headers?.code === 503) throw new errors.NoRespondersError(subject);
  const { seq, error } = JSON.parse(textDecoder.decode(answer.data)) as { seq?: number; error?: ApiError };
  if (error) throw new JetStreamApiError(error);
  if (seq === undefined) throw new JetStreamError('an answer that is no acknowledgement');
  return seq;
}
