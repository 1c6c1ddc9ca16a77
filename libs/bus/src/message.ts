/**
 * A message on the wire: JSON in UTF-8, headers `traceparent` and `pawl-schema: <kind>.v1`.
 * A body above the server's payload limit travels by claim check (claims.ts); readers never notice.
 */
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import { RejectedError } from '@pawl/contracts';
import { formatTraceparent, newTraceContext, parseTraceparent, type TraceContext } from '@pawl/telemetry';
import { readClaim, storeBody } from './claims.ts';
import type { Bus } from './connect.ts';

/** No message is larger than this, claim or not. */
export const bodyBytesMax = 64 * 1_048_576;
const headerRoomBytes = 8_192;
const claimHeader = 'pawl-claim';
const textEncoder = new TextEncoder();
const textDecoder = new TextDecoder('utf-8', { fatal: true });

export type WireMessage = { payload: Uint8Array; headers: MsgHdrs };

/**
 * Puts a body on the wire, into the object store where it is too large for a message. Throws `RejectedError`
 * body_too_large above 64 MiB.
 */
export async function encodeMessage(
  bus: Bus,
  { subject, body, trace }: { subject: string; body: { kind: string; v: number }; trace: TraceContext },
): Promise<WireMessage> {
  const messageHeaders = headers();
  messageHeaders.set('traceparent', formatTraceparent(trace));
  messageHeaders.set('pawl-schema', `${body.kind}.v${body.v}`);
  const payload = textEncoder.encode(JSON.stringify(body));
  if (payload.length > bodyBytesMax) {
    throw new RejectedError('body_too_large', `a message of ${payload.length} bytes; ${bodyBytesMax} are allowed`);
  }
  if (payload.length <= payloadBytesMax(bus)) return { payload, headers: messageHeaders };
  const kind = body.kind === 'think' || body.kind === 'act' ? 'work' : 'fact';
  messageHeaders.set(claimHeader, await storeBody(bus, payload, { kind, subject }));
  return { payload: new Uint8Array(), headers: messageHeaders };
}

/** Bytes that fit into one message beside its headers. */
export function payloadBytesMax(bus: Bus): number {
  return (bus.connection.info?.max_payload ?? 1_048_576) - headerRoomBytes;
}

/** The JSON value of a message. Throws `RejectedError` when it is not JSON, `UnavailableError` when its claim is not there. */
export async function decodeMessage(bus: Bus, message: Received): Promise<unknown> {
  const payload = await payloadOf(bus, message);
  try {
    return JSON.parse(textDecoder.decode(payload));
  } catch {
    throw new RejectedError('invalid_json', 'the message is not JSON in UTF-8');
  }
}

type Received = { data: Uint8Array; headers?: MsgHdrs | undefined };

/** The bytes of a message's body, exact. Throws `UnavailableError` when its claim is not there. */
export async function payloadOf(bus: Bus, message: Received): Promise<Uint8Array> {
  const claim = claimOf(message);
  return claim ? await readClaim(bus, claim) : message.data;
}

/** The name of a message's body in the object store, where it lies there. */
export function claimOf(message: { headers?: MsgHdrs | undefined }): string | undefined {
  return message.headers?.get(claimHeader) || undefined;
}

/** The trace that a message belongs to; a fresh one when it brings none. */
export function traceOf(message: { headers?: MsgHdrs | undefined }): TraceContext {
  return parseTraceparent(message.headers?.get('traceparent')) ?? newTraceContext();
}
