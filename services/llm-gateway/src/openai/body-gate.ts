/** Bounds the memory of large bodies: those under way together have to fit, whoever sends them. */
import { OpenAiError } from './openai-errors.ts';

/** Bodies up to this size are not counted, and neither are those whose length is not told. */
const smallBytes = 2 ** 20;
const retryAfterMs = 1_000;

export type BodyGate = {
  /** Lets a body of so many bytes in and gives how to let it out, once. Throws `OpenAiError` rate_limited when there is no room. */
  enter(bytes: number): () => void;
};

export function createBodyGate(bytesMax: number): BodyGate {
  let bytesInside = 0;
  return {
    enter(bytes) {
      if (!(bytes > smallBytes)) return () => {};
      if (bytesInside + bytes > bytesMax) {
        const message = 'Too many large bodies are under way; send this one again in a moment.';
        throw new OpenAiError({ code: 'rate_limited', message, retryAfterMs });
      }
      bytesInside += bytes;
      let isInside = true;
      return () => {
        if (isInside) bytesInside -= bytes;
        isInside = false;
      };
    },
  };
}
