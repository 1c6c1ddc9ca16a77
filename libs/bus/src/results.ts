/** Whole results of tools whose observation was cut: kept in the object store, read by reference. */
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';

const withinMs = 30_000;

/** Stores a result of a run and gives its reference, `<app>/<runId>/<m>/<i>`. Storing again replaces. Throws `UnavailableError`. */
export async function putResult(
  bus: Bus,
  of: { app: string; runId: string; m: number; i: number },
  text: string,
): Promise<string> {
  const ref = `${of.app}/${of.runId}/${of.m}/${of.i}`;
  await orUnavailable(bus.results.putBlob({ name: ref }, new TextEncoder().encode(text)), withinMs);
  return ref;
}

/**
 * The whole text under a reference, or undefined. The caller checks that the reference belongs to its run.
 * Throws `UnavailableError`.
 */
export async function getResult(bus: Bus, ref: string): Promise<string | undefined> {
  const bytes = await orUnavailable(bus.results.getBlob(ref), withinMs);
  return bytes ? new TextDecoder().decode(bytes) : undefined;
}
