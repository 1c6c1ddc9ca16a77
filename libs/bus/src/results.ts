/** Whole results of tools whose observation was cut: kept in the object store, read by reference. */
import type { Bus } from './connect.ts';

/** Stores a result of a run and gives its reference, `<app>/<runId>/<m>/<i>`. Storing again replaces. */
export async function putResult(
  bus: Bus,
  of: { app: string; runId: string; m: number; i: number },
  text: string,
): Promise<string> {
  const ref = `${of.app}/${of.runId}/${of.m}/${of.i}`;
  await bus.results.putBlob({ name: ref }, new TextEncoder().encode(text));
  return ref;
}

/** The whole text under a reference, or undefined. The caller checks that the reference belongs to its run. */
export async function getResult(bus: Bus, ref: string): Promise<string | undefined> {
  const bytes = await bus.results.getBlob(ref);
  return bytes ? new TextDecoder().decode(bytes) : undefined;
}
