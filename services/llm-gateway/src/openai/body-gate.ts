/** Bounds the memory of large bodies: those under way together have to fit, whoever sends them. */
import { Transform } from 'node:stream';
import { OpenAiError } from './openai-errors.ts';

/** Bodies up to this size are not counted. */
const smallBytes = 2 ** 20;
const retryAfterMs = 1_000;

/** The stay of one body. */
export type Visit = {
  /** So many bytes more. Throws `OpenAiError` rate_limited when there is no room for them. */
  grow(bytes: number): void;
  /** Lets the body out. Repeating it changes nothing. */
  leave(): void;
};

export type BodyGate = { open(): Visit };

export function createBodyGate(bytesMax: number): BodyGate {
  let bytesInside = 0;
  return {
    open() {
      let bytes = 0;
      let counted = 0;
      return {
        grow(more) {
          bytes += more;
          const uncounted = bytes > smallBytes ? bytes - counted : 0;
          if (bytesInside + uncounted > bytesMax) {
            const message = 'Too many large bodies are under way; send this one again in a moment.';
            throw new OpenAiError({ code: 'rate_limited', message, retryAfterMs });
          }
          bytesInside += uncounted;
          counted += uncounted;
        },
        leave() {
          bytesInside -= counted;
          counted = 0;
        },
      };
    },
  };
}

/** Passes a body on whose length was not told, and counts it as it comes. */
export function createCounter({ grow }: Visit): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      try {
        grow(bytes.length);
        done(null, bytes);
      } catch (error) {
        done(error as Error);
      }
    },
  });
}
