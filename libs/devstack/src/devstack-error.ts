/**
 * The one kind of failure that a person at the terminal can act on.
 * Its message is whole sentences: what is wrong and what to do. It is printed without a stack; any other error is a bug.
 */
export class DevstackError extends Error {
  override readonly name = 'DevstackError';
}

/** The message of anything thrown, for use inside a sentence. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
