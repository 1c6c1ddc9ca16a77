/** Declared objects: content-hashed revisions in KV, watched, so that a change takes effect without a restart. */
import {
  buckets,
  fingerprint,
  registryObjectSchema,
  registryPaths,
  revisionedSchema,
  type RegistryKind,
  type RegistryObject,
  type RegistryObjectOf,
  type Revisioned,
} from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { watchBucket } from './watched-bucket.ts';

export type Registry = {
  find<K extends RegistryKind>(kind: K, app: string, name: string): Revisioned<K> | undefined;
  list<K extends RegistryKind>(kind: K, app: string): Revisioned<K>[];
  /**
   * Stores an object as the newest revision; the same content gives the same revision. Throws `UnavailableError`, and
   * `RejectedError` body_too_large near NATS's payload limit (1 MiB by default).
   */
  put<O extends RegistryObject>(object: O): Promise<Revisioned<O['kind']>>;
  /** Whether there was such an object. */
  remove(kind: RegistryKind, app: string, name: string): Promise<boolean>;
  /** Calls back after every change, from whichever process; returns how to end it. */
  onChange(listener: (key: { kind: RegistryKind; app: string; name: string }) => void): () => void;
  close(): void;
};

/** Reads all declared objects and keeps them up to date. */
export async function connectRegistry(bus: Bus): Promise<Registry> {
  const watched = await watchBucket<Revisioned>(bus, {
    bucket: bus.registry,
    name: buckets.registry,
    parse: (text) => revisionedSchema.parse(JSON.parse(text)),
  });

  return {
    find: (kind, app, name) => {
      const found = watched.entries().get(keyOf(kind, app, name));
      return found && isOfKind(found, kind) ? found : undefined;
    },
    list: <K extends RegistryKind>(kind: K, app: string) =>
      [...watched.entries().values()]
        .filter((found): found is Revisioned & Revisioned<K> => isOfKind(found, kind))
        .filter((found) => found.object.metadata.app === app)
        .toSorted((a, b) => a.object.metadata.name.localeCompare(b.object.metadata.name)),
    async put(object) {
      const parsed = registryObjectSchema.parse(object);
      const revisioned = { revision: fingerprint(parsed), updatedAt: new Date().toISOString(), object: parsed };
      await watched.put(keyOf(parsed.kind, parsed.metadata.app, parsed.metadata.name), JSON.stringify(revisioned));
      return revisioned as Revisioned<(typeof object)['kind']>;
    },
    async remove(kind, app, name) {
      const key = keyOf(kind, app, name);
      const wasThere = watched.entries().has(key);
      if (wasThere) await watched.remove(key);
      return wasThere;
    },
    onChange: (listener) =>
      watched.onChange((key) => {
        const [app = '', path = '', name = ''] = key.split('.');
        const kind = (Object.keys(registryPaths) as RegistryKind[]).find(
          (candidate) => registryPaths[candidate] === path,
        );
        if (kind) listener({ kind, app, name });
      }),
    close: () => watched.close(),
  };
}

function keyOf(kind: RegistryKind, app: string, name: string): string {
  return `${app}.${registryPaths[kind]}.${name}`;
}

function isOfKind<K extends RegistryKind>(
  found: Revisioned,
  kind: K,
): found is Revisioned<K> & { object: RegistryObjectOf<K> } {
  return found.object.kind === kind;
}
