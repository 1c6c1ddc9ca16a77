/**
 * Claim check: bodies above the server's payload limit lie in the object store; the message carries only their name.
 * A fact's body is named by the hash of its content and stays. A work's body has a name of its own and goes once the work
 * is acknowledged, so that a later piece of work with the same content never loses its body.
 */
import { nuid } from '@nats-io/nats-core';
import { buckets, sha256, UnavailableError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';

const workPrefix = 'work-';

/** Stores a body for good and gives its name; the same content is stored once. */
export async function storeContent(bus: Bus, body: Uint8Array): Promise<string> {
  const name = sha256(body);
  const known = await orUnavailable(bus.claims.info(name));
  if (!known) await orUnavailable(bus.claims.putBlob({ name }, body), 30_000);
  return name;
}

/** Stores the body of one piece of work and gives its name. */
export async function storeWorkBody(bus: Bus, body: Uint8Array): Promise<string> {
  const name = `${workPrefix}${nuid.next()}`;
  await orUnavailable(bus.claims.putBlob({ name }, body), 30_000);
  return name;
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
  const stream = `OBJ_${buckets.claims}`;
  const key = Buffer.from(name).toString('base64url');
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: `$O.${buckets.claims}.C.${info.nuid}` }));
  await orUnavailable(bus.jsm.streams.purge(stream, { filter: `$O.${buckets.claims}.M.${padded(key)}` }));
}

/** The object store's names are padded base64url. */
function padded(key: string): string {
  return key.padEnd(Math.ceil(key.length / 4) * 4, '=');
}
