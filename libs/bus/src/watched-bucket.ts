/** A KV bucket held in memory and kept up to date by a watch. */
import type { KV } from '@nats-io/kv';

export type WatchedBucket<T> = {
  entries(): ReadonlyMap<string, T>;
  onChange(listener: (key: string) => void): () => void;
  close(): void;
};

/** Reads the whole bucket, then follows it. Values that `parse` gives undefined for are left out. */
export async function watchBucket<T>(
  bucket: KV,
  parse: (text: string) => T | undefined,
): Promise<WatchedBucket<T>> {
  const entries = new Map<string, T>();
  const listeners = new Set<(key: string) => void>();
  let watch = await bucket.watch();
  let isClosed = false;

  const follow = async (until: { count: number; reached(): void }) => {
    let seen = 0;
    if (until.count === 0) until.reached();
    for await (const entry of watch) {
      const value = entry.operation === 'PUT' ? parse(entry.string()) : undefined;
      if (value === undefined) entries.delete(entry.key);
      else entries.set(entry.key, value);
      for (const listener of listeners) listener(entry.key);
      seen += 1;
      if (seen === until.count) until.reached();
    }
  };

  const { values } = await bucket.status();
  await new Promise<void>((resolve) => {
    void (async () => {
      await follow({ count: values, reached: resolve });
      while (!isClosed) {
        watch = await bucket.watch();
        await follow({ count: -1, reached: resolve });
      }
    })().catch(() => resolve());
  });

  return {
    entries: () => entries,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      isClosed = true;
      watch.stop();
    },
  };
}
