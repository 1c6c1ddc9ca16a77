/** Puts a stream of items together into batches, without holding back a lone item for long, and works through them. */

export type BatchLimits = {
  /** Items of a batch at the most. */
  countMax: number;
  /** A batch is closed once its items add up to this many bytes. */
  bytesMax: number;
  /** How long the first item of a batch waits for others, in ms. */
  lingerMs: number;
};

/** Batches in the order of the items, none empty; ends with its source. */
export async function* batchesOf<T>(
  source: AsyncIterable<T>,
  options: BatchLimits & { sizeOf(item: T): number },
): AsyncGenerator<T[]> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const first = await next;
    if (first.done) return;
    const batch = [first.value];
    let bytes = options.sizeOf(first.value);
    next = iterator.next();
    const linger = startTimer(options.lingerMs);
    while (batch.length < options.countMax && bytes < options.bytesMax) {
      const following = await Promise.race([next, linger.passed]);
      if (!following || following.done) break;
      batch.push(following.value);
      bytes += options.sizeOf(following.value);
      next = iterator.next();
    }
    linger.stop();
    // The next item is under way already; if its source fails while this batch is written, the failure is met above.
    next.catch(() => undefined);
    yield batch;
  }
}

/**
 * Does the work of each item, of so many at once, and is done when all is done. When one fails, no further item is begun,
 * those under way are waited for, and the failure is thrown.
 */
export async function workThrough<T>(
  source: AsyncIterable<T> | Iterable<T>,
  options: { atOnceMax: number; work(item: T): Promise<void> },
): Promise<void> {
  const running = new Set<Promise<void>>();
  try {
    for await (const item of source) {
      const done = options.work(item).finally(() => running.delete(done));
      running.add(done);
      if (running.size >= options.atOnceMax) await Promise.race(running);
    }
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
}

function startTimer(delayMs: number): { passed: Promise<undefined>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, delayMs, undefined);
  return { passed: promise, stop: () => clearTimeout(timer) };
}
