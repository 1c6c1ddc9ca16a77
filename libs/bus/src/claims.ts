/**
 * Claim check: bodies above the server's payload limit lie in the object store; the message carries only their name.
 * A fact's body is named by the hash of its content and stays. A work's body has a name of its own and goes once the work
 * is acknowledged, so that a later piece of work with the same content never loses its body.
 */
import { nuid } from '@nats-io/nats-core';
import { buckets, objectStream, sha256, UnavailableError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { objectSubjects } from './object-subjects.ts';

/** Begins the name of what goes with its work. */
export const workPrefix = 'work-';
const pieceBytes = 16 * 1024;

/** Stores a body for good and gives its name; the same content is stored once. */
export async function storeContent(bus: Bus, body: Uint8Array): Promise<string> {
  const name = sha256(body);
  const known = await orUnavailable(bus.claims.info(name));
  if (!known) await putBody(bus, { name }, body);
  return name;
}

/** Stores the body of the piece of work that is published to a subject, and gives its name. */
export async function storeWorkBody(bus: Bus, body: Uint8Array, subject: string): Promise<string> {
  const name = `${workPrefix}${nuid.next()}`;
  await putBody(bus, { name, metadata: { subject } }, body);
  return name;
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

/** Removes the body of a piece of work, leaving no trace; a fact's body stays. */
export async function dropWorkBody(bus: Bus, name: string): Promise<void> {
  if (!name.startsWith(workPrefix)) return;
  const info = await orUnavailable(bus.claims.info(name));
  if (!info) return;
  const at = objectSubjects(buckets.claims);
  const stream = objectStream(buckets.claims);
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.chunks(info.nuid) }));
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: at.entry(name) }));
}
