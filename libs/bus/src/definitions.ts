/** Definitions: what runs are pinned to (I7), stored once under the hash of their content, never changed. */
import { definitionSchema, fingerprint, UnavailableError, type Definition } from '@pawl/contracts';
import { readClaim, storeContent } from './claims.ts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { payloadBytesMax } from './message.ts';

const cachedMax = 1_000;
const claimPrefix = 'claim:';

export type Definitions = {
  /** Stores a definition and gives its hash; the same content is stored once. Throws `UnavailableError`. */
  put(definition: Definition): Promise<string>;
  /** Throws `UnavailableError` when it is not there. */
  get(hash: string): Promise<Definition>;
};

/** The store of definitions; remembers the last 1,000 that were read or written. */
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
      const isThere = await orUnavailable(bus.definitions.get(hash));
      if (!isThere) await orUnavailable(bus.definitions.put(hash, await encode(bus, definition)));
      remember(hash, definition);
      return hash;
    },
    async get(hash) {
      const known = cache.get(hash);
      if (known) return known;
      const entry = await orUnavailable(bus.definitions.get(hash));
      if (!entry) throw new UnavailableError(`the definition ${hash} is not in the bucket`);
      const definition = definitionSchema.parse(JSON.parse(await decode(bus, entry.string())));
      remember(hash, definition);
      return definition;
    },
  };
}

/** A definition with many tools may be larger than a message: then the bucket holds where its text lies. */
async function encode(bus: Bus, definition: Definition): Promise<Uint8Array> {
  const body = new TextEncoder().encode(JSON.stringify(definition));
  if (body.length <= payloadBytesMax(bus)) return body;
  return new TextEncoder().encode(claimPrefix + (await storeContent(bus, body)));
}

async function decode(bus: Bus, text: string): Promise<string> {
  if (!text.startsWith(claimPrefix)) return text;
  return new TextDecoder().decode(await readClaim(bus, text.slice(claimPrefix.length)));
}
