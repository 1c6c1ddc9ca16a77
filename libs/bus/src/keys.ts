/** Keys of apps as every service knows them: by the hash of the key, never the key itself. */
import { buckets, keyRecordSchema, sha256, type KeyRecord } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { watchBucket } from './watched-bucket.ts';
import type { AppSource } from './work-queue.ts';

export type Keys = AppSource & {
  /** The record of a key that is known and has not expired. */
  find(key: string): KeyRecord | undefined;
  put(hash: string, record: KeyRecord): Promise<void>;
  remove(hash: string): Promise<void>;
  close(): void;
};

/** Reads all keys and keeps them up to date. An app exists as soon as it has a key. */
export async function connectKeys(bus: Bus): Promise<Keys> {
  const watched = await watchBucket<KeyRecord>(bus, {
    bucket: bus.keys,
    name: buckets.keys,
    parse: (text) => keyRecordSchema.parse(JSON.parse(text)),
  });
  return {
    find(key) {
      const record = watched.entries().get(sha256(key));
      const isExpired = record?.expiresAt != null && !(Date.parse(record.expiresAt) > Date.now());
      return isExpired ? undefined : record;
    },
    put: (hash, record) => watched.put(hash, JSON.stringify(record)),
    remove: (hash) => watched.remove(hash),
    apps: () => [...new Set([...watched.entries().values()].map((record) => record.app))],
    onChange: (listener) => watched.onChange(() => listener()),
    close: () => watched.close(),
  };
}
