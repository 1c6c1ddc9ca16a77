/**
 * A message on the wire: JSON in UTF-8, headers `traceparent` and `pawl-schema: <kind>.v1`.
 * A body above the server's payload limit travels by claim check: it is put into the object store under the hash of its
 * content, and the message carries only that hash. Readers never notice.
 */
import { headers, type MsgHdrs } from '@nats-io/nats-core';
import { RejectedError, sha256, UnavailableError } from '@pawl/contracts';
import { formatTraceparent, newTraceContext, parseTraceparent, type TraceContext } from '@pawl/telemetry';
import type { Bus } from './connect.ts';

const headerRoomBytes = 8_192;
const claimHeader = 'pawl-claim';
const textEncoder = new TextEncoder();
const textDecoder = new TextDecoder('utf-8', { fatal: true });

export type WireMessage = { payload: Uint8Array; headers: MsgHdrs };

/** Puts a body on the wire, into the object store where it is too large for a message. */
export async function encodeMessage(
  bus: Bus,
  body: { kind: string; v: number },
  trace: TraceContext,
): Promise<WireMessage> {
  const messageHeaders = headers();
  messageHeaders.set('traceparent', formatTraceparent(trace));
  messageHeaders.set('pawl-schema', `${body.kind}.v${body.v}`);
  const payload = textEncoder.encode(JSON.stringify(body));
  const payloadMax = (bus.connection.info?.max_payload ?? 1_048_576) - headerRoomBytes;
  if (payload.length <= payloadMax) return { payload, headers: messageHeaders };
  messageHeaders.set(claimHeader, await storeBlob(bus, payload));
  return { payload: new Uint8Array(), headers: messageHeaders };
}

/** The JSON value of a message. Throws `RejectedError` when it is not JSON, `UnavailableError` when its claim is not there. */
export async function decodeMessage(
  bus: Bus,
  message: { data: Uint8Array; headers?: MsgHdrs | undefined },
): Promise<unknown> {
  const payload = await payloadOf(bus, message);
  try {
    return JSON.parse(textDecoder.decode(payload));
  } catch {
    throw new RejectedError('invalid_json', 'the message is not JSON in UTF-8');
  }
}

/** The bytes of a message's body, exact. Throws `UnavailableError` when its claim is not there. */
export async function payloadOf(
  bus: Bus,
  message: { data: Uint8Array; headers?: MsgHdrs | undefined },
): Promise<Uint8Array> {
  const claim = message.headers?.get(claimHeader);
  return claim ? await readBlob(bus, claim) : message.data;
}

/** Whether a message's body has to be fetched first. */
export function isClaim(message: { headers?: MsgHdrs | undefined }): boolean {
  return Boolean(message.headers?.get(claimHeader));
}

/** The trace that a message belongs to; a fresh one when it brings none. */
export function traceOf(message: { headers?: MsgHdrs | undefined }): TraceContext {
  return parseTraceparent(message.headers?.get('traceparent')) ?? newTraceContext();
}

async function storeBlob(bus: Bus, payload: Uint8Array): Promise<string> {
  const name = sha256(payload);
  const known = await bus.claims.info(name);
  if (!known) await bus.claims.putBlob({ name }, payload);
  return name;
}

async function readBlob(bus: Bus, name: string): Promise<Uint8Array> {
  const payload = await bus.claims.getBlob(name);
  if (!payload) throw new UnavailableError(`the body ${name} is not in the object store`);
  return payload;
}
