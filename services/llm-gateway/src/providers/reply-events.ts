/** The chunks of a streamed completion, out of the event stream that carries them. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import OpenAI from 'openai';
import type { ReplyChunk } from './reply-assembly.ts';

/** Of one event: more is no piece of a reply. */
const eventCharactersMax = 32 * 2 ** 20;
const endOfStream = '[DONE]';

/**
 * Reads until the end that the endpoint marks, or that of the connection. Throws `APIError` for an error that is told in the
 * stream, `SyntaxError` for what is not JSON, and whatever reading throws.
 */
export async function* readReplyEvents(response: Response): AsyncGenerator<ReplyChunk> {
  let events: EventSourceMessage[] = [];
  const parser = createParser({
    maxBufferSize: eventCharactersMax,
    onEvent: (event) => void events.push(event),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw new SyntaxError(error.message);
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of bytesOf(response)) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    for (const event of events) {
      if (event.data.startsWith(endOfStream)) return;
      yield chunkOf(event, response);
    }
    events = [];
  }
}

function bytesOf({ body }: Response): AsyncIterable<Uint8Array> {
  if (!body) throw new TypeError('a stream without a body');
  return body as AsyncIterable<Uint8Array>;
}

function chunkOf({ event, data }: EventSourceMessage, response: Response): ReplyChunk {
  const chunk = JSON.parse(data) as (ReplyChunk & { error?: object }) | null;
  if (event === 'error' || chunk?.error) {
    throw new OpenAI.APIError(undefined, chunk?.error ?? chunk ?? undefined, undefined, response.headers);
  }
  return chunk ?? {};
}
