/**
 * A KV bucket held in memory and kept up to date. What this process writes it sees at once; a value that can't be read
 * counts as absent; nothing that a listener throws stops the watch.
 */
import type { KV } from '@nats-io/kv';
import { RejectedError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { payloadBytesMax } from './message.ts';
import { readInOrder } from './read-in-order.ts';

const textEncoder = new TextEncoder();
const loadWithinMs = 60_000;

export type WatchedBucket<T> = {
  entries(): ReadonlyMap<string, T>;
  onChange(listener: (key: string) => void): () => void;
  /** Throws `UnavailableError`, and `RejectedError` body_too_large when the text doesn't fit into a message. */
  put(key: string, text: string): Promise<void>;
  remove(key: string): Promise<void>;
  close(): void;
};

export type WatchedBucketOptions<T> = {
  bucket: KV;
  /** The bucket's name. */
  name: string;
  /** Undefined, or a throw, for a value that is not valid. */
  parse(text: string): T | undefined;
};

/** Reads the whole bucket, then follows it. Throws `UnavailableError` when it can't be read within a minute. */
export async function watchBucket<T>(bus: Bus, options: WatchedBucketOptions<T>): Promise<WatchedBucket<T>> {
  const { bucket } = options;
  const entries = new Map<string, T>();
  const revisions = new Map<string, number>();
  const listeners = new Set<(key: string) => void>();
  const subjectPrefix = `$KV.${options.name}.`;
  const loaded = Promise.withResolvers<void>();

  const apply = (key: string, revision: number, text: string | undefined) => {
    if (revision <= (revisions.get(key) ?? 0)) return;
    revisions.set(key, revision);
    const value = text === undefined ? undefined : parseSafely(options.parse, text);
    if (value === undefined) entries.delete(key);
    else entries.set(key, value);
    for (const listener of listeners) callSafely(listener, key);
  };

  const reading = readInOrder(bus, {
    stream: `KV_${options.name}`,
    filter: `${subjectPrefix}>`,
    startSequence: 1,
    isLastPerSubject: true,
    onMessage(message) {
      const isRemoved = Boolean(message.headers?.get('KV-Operation'));
      apply(message.subject.slice(subjectPrefix.length), message.seq, isRemoved ? undefined : message.string());
    },
    onCaughtUp: loaded.resolve,
    onRewound() {
      entries.clear();
      revisions.clear();
    },
  });
  await orUnavailable(loaded.promise, loadWithinMs).catch(async (error: unknown) => {
    await reading.stop();
    throw error;
  });

  return {
    entries: () => entries,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async put(key, text) {
      const payload = textEncoder.encode(text);
      if (payload.length > payloadBytesMax(bus)) {
        throw new RejectedError('body_too_large', `${payload.length} bytes; ${payloadBytesMax(bus)} can be kept`);
      }
      apply(key, await orUnavailable(bucket.put(key, payload)), text);
    },
    async remove(key) {
      const before = revisions.get(key);
      await orUnavailable(bucket.delete(key));
      if (revisions.get(key) !== before || !entries.delete(key)) return;
      for (const listener of listeners) callSafely(listener, key);
    },
    close() {
      listeners.clear();
      void reading.stop();
    },
  };
}

function parseSafely<T>(parse: (text: string) => T | undefined, text: string): T | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** A listener's mistake is shown, but not at the cost of the other listeners. */
function callSafely(listener: (key: string) => void, key: string): void {
  try {
    listener(key);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}
