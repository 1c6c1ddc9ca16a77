/** What is pushed, to be taken piece by piece: for peers that can't be made to wait. What nobody takes in time is cut, not kept. */

export type PushSource = AsyncIterable<Uint8Array> & {
  /** `onTaken` is called when it has been taken. */
  push(chunk: Uint8Array, onTaken?: () => void): void;
  end(): void;
  fail(error: unknown): void;
  /** Bytes that were pushed and not taken yet. */
  pendingBytes(): number;
  /** Whether something was left out because too much was waiting. */
  isCut(): boolean;
};

export function createPushSource(pendingBytesMax: number): PushSource {
  const waiting: { chunk: Uint8Array; onTaken: (() => void) | undefined }[] = [];
  let pendingBytes = 0;
  let isCut = false;
  let over: { error?: unknown } | undefined;
  let wake = () => {};
  const finish = (how: { error?: unknown }) => {
    over ??= how;
    wake();
  };
  /** Waits until there is something; false where nothing comes any more. */
  const hasNext = async (): Promise<boolean> => {
    while (waiting.length === 0 && !over) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
    if (waiting.length === 0 && over && 'error' in over) throw over.error;
    return waiting.length > 0;
  };
  async function* take(): AsyncGenerator<Uint8Array> {
    try {
      while (await hasNext()) {
        const next = waiting.shift();
        if (!next) return;
        pendingBytes -= next.chunk.length;
        yield next.chunk;
        next.onTaken?.();
      }
    } finally {
      over ??= {};
      waiting.splice(0);
    }
  }
  return {
    [Symbol.asyncIterator]: take,
    push(chunk, onTaken) {
      if (over) return;
      if (pendingBytes > 0 && pendingBytes + chunk.length > pendingBytesMax) {
        isCut = true;
        return finish({});
      }
      pendingBytes += chunk.length;
      waiting.push({ chunk, onTaken });
      wake();
    },
    end: () => finish({}),
    fail: (error) => finish({ error }),
    pendingBytes: () => pendingBytes,
    isCut: () => isCut,
  };
}
