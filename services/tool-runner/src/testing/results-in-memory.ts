/** A result store in memory, for tests of kinds that need no NATS. */
import { createSpool, type ResultStore, type Spool } from '../results/result-store.ts';

export type ResultsInMemory = {
  store: ResultStore;
  stored: Map<string, { bytes: Buffer; contentType: string | undefined }>;
  /** Of call 0 of thought 0 of run `run_1` of app `demo`. */
  spool: Spool;
};

export function createResultsInMemory(): ResultsInMemory {
  const stored: ResultsInMemory['stored'] = new Map();
  const store: ResultStore = {
    async put({ ref, contentType }, chunks) {
      stored.set(ref, { bytes: Buffer.concat(await Array.fromAsync(chunks)), contentType });
    },
    async open(ref) {
      const found = stored.get(ref);
      return found && { bytes: found.bytes.length, contentType: found.contentType, chunks: chunksOf(found.bytes) };
    },
    async adopt(from, to) {
      const found = stored.get(from);
      if (found) stored.set(to, found);
      stored.delete(from);
    },
    remove: async (ref) => void stored.delete(ref),
  };
  return { store, stored, spool: createSpool(store, { app: 'demo', runId: 'run_1', m: 0, i: 0 }) };
}

/** In small pieces, so that every boundary comes about. */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 61) yield bytes.subarray(at, at + 61);
}
