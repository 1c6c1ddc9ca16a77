/** Waiting for something to come true, without sleeping for a fixed time. */

/** What a probe gives once it is done: nothing that may be empty, such as null, 0 or '', since that could mean either. */
type Done = true | (object & { then?: never });

/** Asks again and again until `check` gives something; undefined, false and any other empty value wait on. Throws what it said last. */
export async function eventually<T extends Done>(
  check: () => T | undefined | false | Promise<T | undefined | false>,
  options: { withinMs?: number; what?: string } = {},
): Promise<T> {
  const giveUpAtMs = performance.now() + (options.withinMs ?? 10_000);
  let failure: unknown;
  for (;;) {
    try {
      const value = await check();
      // Types end where JSON is read: what is there says more than what was promised.
      if (value) return value;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > giveUpAtMs) {
      throw new Error(`it did not come true: ${options.what ?? check.toString().slice(0, 200)}`, { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
