/** Where whole results are kept while and after they are read: the port, and what a call gets of it. */
import { randomUUID } from 'node:crypto';
import { resultRef } from '@pawl/contracts';

/** What a result is: JSON text, any other text, or the bytes of a picture, a sound or another file. */
export type ResultPart =
  | { format: 'json' }
  | { format: 'text' }
  | { format: 'media'; contentType: string; /** Tells several of one call apart. */ number: number };

export type ResultStore = {
  /**
   * Stores what comes, piece by piece; what `chunks` throws is thrown. What is stored as `staged/<name>` goes after a time unless
   * it is adopted. Throws `UnavailableError`.
   */
  put(of: { ref: string; contentType?: string }, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  open(ref: string): Promise<OpenResult | undefined>;
  adopt(staged: string, ref: string): Promise<void>;
  remove(ref: string): Promise<void>;
};

export type OpenResult = { bytes: number; contentType: string | undefined; chunks: AsyncIterable<Uint8Array> };

/** Stores results of one call. */
export type Spool = {
  /** Bytes of one result at the most. */
  bytesMax: number;
  /** Gives the reference. What `chunks` throws is thrown. Throws `UnavailableError`. */
  put(part: ResultPart, chunks: AsyncIterable<Uint8Array>): Promise<string>;
  /** Takes over what was stored under a name of its own, before it was known whose result it is; gives the reference. */
  adopt(part: ResultPart, staged: string): Promise<string>;
  drop(staged: string): Promise<void>;
};

/** Stores what belongs to nobody yet, under a name of its own. */
export type Stage = (chunks: AsyncIterable<Uint8Array>) => Promise<string>;

export function createStage(store: ResultStore): Stage {
  return async (chunks) => {
    const name = `staged/${randomUUID()}`;
    await store.put({ ref: name }, chunks);
    return name;
  };
}

export type CallPlace = { app: string; runId: string; m: number; i: number };

export const storedBytesMax = 64 * 1024 * 1024;

/** `<app>/<runId>/<m>/<i>`, and what a part adds: a result belongs to its run by its reference alone. */
export function refOf(place: CallPlace, part: ResultPart): string {
  const whole = resultRef(place);
  if (part.format === 'media') return `${whole}/media-${part.number}`;
  return part.format === 'text' ? `${whole}/text` : whole;
}

/** Whether a reference is one of a run's. */
export function isOfRun(ref: string, { app, runId }: { app: string; runId: string }): boolean {
  return ref.startsWith(`${app}/${runId}/`);
}

export function isPlainText(ref: string): boolean {
  return ref.endsWith('/text');
}

export function createSpool(store: ResultStore, place: CallPlace): Spool {
  const addressOf = (part: ResultPart) => ({
    ref: refOf(place, part),
    ...(part.format === 'media' ? { contentType: part.contentType } : {}),
  });
  return {
    bytesMax: storedBytesMax,
    async put(part, chunks) {
      const address = addressOf(part);
      await store.put(address, chunks);
      return address.ref;
    },
    async adopt(part, staged) {
      const { ref } = addressOf(part);
      await store.adopt(staged, ref);
      return ref;
    },
    drop: (staged) => store.remove(staged),
  };
}

/** Text as a store takes it. */
export async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  const charsAtOnce = 1_000_000;
  for (let at = 0; at < text.length;) {
    const last = text.charCodeAt(at + charsAtOnce - 1);
    // A pair of surrogates stays together.
    const end = at + charsAtOnce + (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}
