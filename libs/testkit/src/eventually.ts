/** Waiting for something to come true, without sleeping for a fixed time. */

/** Asks again and again until `check` gives something other than undefined or false; throws what it said last. */
export async function eventually<T>(
  check: () => T | undefined | false | Promise<T | undefined | false>,
  options: { withinMs?: number; what?: string } = {},
): Promise<T> {
  const giveUpAtMs = performance.now() + (options.withinMs ?? 10_000);
  let failure: unknown;
  for (;;) {
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value;
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
