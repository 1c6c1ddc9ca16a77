/** A mistake that the user can put right: told as a sentence, exit code 2. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
