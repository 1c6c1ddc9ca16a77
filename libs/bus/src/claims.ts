/**
 * Claim check: bodies above the server's payload limit lie in the object store; the message carries only their name.
 * Such a body has a name of its own and goes with its message, once work is acknowledged or a fact leaves the log; so a later message
 * with the same content never loses its body. Definitions, which many runs share, are named by the hash of their content and stay.
 */
import { nuid } from '@nats-io/nats-core';
import { buckets, objectStream, sha256, UnavailableError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { objectSubjects } from './object-subjects.ts';

/** Begin the names of what goes with its message. */
const prefixes = { work: 'work-', fact: 'fact-' };
const pieceBytes = 16 * 1024;

/** Stores a body for good and gives its name; the same content is stored once. */
export async function storeContent(bus: Bus, body: Uint8Array): Promise<string> {
  const name = sha256(body);
  const known = await orUnavailable(bus.claims.info(name));
  if (!known) await putBody(bus, { name }, body);
  return name;
}

/** Stores the body of the message that is published to a subject, and gives its name. */
export async function storeBody(bus: Bus, body: Uint8Array, of: { kind: BodyKind; subject: string }): Promise<string> {
  const name = `${prefixes[of.kind]}${nuid.next()}`;
  await putBody(bus, { name, metadata: { subject: of.subject } }, body);
  return name;
}

export type BodyKind = keyof typeof prefixes;

/** Whether what has this name goes with its message. */
export function isBody(name: string): boolean {
  return Object.values(prefixes).some((prefix) => name.startsWith(prefix));
}

type Named = { name: string; metadata?: { subject: string } };

/** In small pieces: the client copies what it was given for each message of 128 KiB that it sends. */
async function putBody(bus: Bus, named: Named, body: Uint8Array): Promise<void> {
  let from = 0;
  const pieces = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (from < body.length) controller.enqueue(body.subarray(from, from + pieceBytes));
      else controller.close();
      from += pieceBytes;
    },
  });
  await orUnavailable(bus.claims.put(named, pieces), 30_000);
}

/** Throws `UnavailableError` when it is not there. */
export async function readClaim(bus: Bus, name: string): Promise<Uint8Array> {
  const body = await orUnavailable(bus.claims.getBlob(name), 30_000);
  if (!body) throw new UnavailableError(`the body ${name} is not in the object store`);
  return body;
}

/** Removes the body of a message, leaving no trace. Repeating it changes nothing. */
export async function dropBody(bus: Bus, name: string): Promise<void> {
  if (!isBody(name)) return;
  const info = await orUnavailable(bus.claims.info(name));
  if (!info) return;
  const at = objectSubjects(buckets.claims);
  const stream = objectStream(buckets.claims);
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.chunks(info.nuid) }));
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.entry(name) }));
}
