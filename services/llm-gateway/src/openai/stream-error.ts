/** How an event stream ends in an error: as a plain answer while its head is not out, else as the last event. */
import { RejectedError, UnavailableError } from '@pawl/contracts';
import type { Denial } from '../call/outcome.ts';
import type { EventStream } from './event-stream.ts';
import { errorBody, OpenAiError } from './openai-errors.ts';

/** Without `[DONE]`: clients must not take what came for an answer. Throws the error on when nothing has been sent. */
export function endWithError(stream: EventStream, error: unknown): void {
  if (!stream.hasBegun()) throw error;
  stream.send(errorBody(denialOfError(error)));
  stream.end();
}

/** What a client is told of an error in the middle of a stream. */
export function denialOfError(error: unknown): Denial {
  if (error instanceof OpenAiError) return error.denial;
  if (error instanceof RejectedError || error instanceof UnavailableError)
    return { code: error.code, message: error.message };
  return { code: 'internal_error', message: 'the service met a mistake of its own; the log has the details' };
}
