/** Definitions: what runs are pinned to (I7), stored once under the hash of their content, never changed. */
import { definitionSchema, fingerprint, UnavailableError, type Definition } from '@pawl/contracts';
import type { Bus } from './connect.ts';

const cachedMax = 1_000;

export type Definitions = {
  /** Stores a definition and gives its hash; the same content is stored once. */
  put(definition: Definition): Promise<string>;
  /** Throws `UnavailableError` when it is not there. */
  get(hash: string): Promise<Definition>;
};

export function createDefinitions(bus: Bus): Definitions {
  const cache = new Map<string, Definition>();
  const remember = (hash: string, definition: Definition) => {
    const oldest = cache.size >= cachedMax ? cache.keys().next().value : undefined;
    if (oldest !== undefined) cache.delete(oldest);
    cache.set(hash, definition);
  };
  return {
    async put(definition) {
      const hash = fingerprint(definition);
      if (cache.has(hash)) return hash;
      if (!(await bus.definitions.get(hash))) await bus.definitions.put(hash, JSON.stringify(definition));
      remember(hash, definition);
      return hash;
    },
    async get(hash) {
      const known = cache.get(hash);
      if (known) return known;
      const entry = await bus.definitions.get(hash);
      if (!entry) throw new UnavailableError(`the definition ${hash} is not in the bucket`);
      const definition = definitionSchema.parse(JSON.parse(entry.string()));
      remember(hash, definition);
      return definition;
    },
  };
}
