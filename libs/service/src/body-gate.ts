/** Bounds the memory of bodies: those under way together have to fit, whoever sends them. */
import { Transform } from 'node:stream';
import { RejectedError } from '@pawl/contracts';

export type BodyGateOptions = {
  bytesMax: number;
  /** Bodies up to this size are not counted. Default 0. */
  smallBytes?: number;
  /** Told of each that found no room. */
  onRefused?(): void;
};

/** The stay of one body. */
export type Visit = {
  /**
   * So many bytes more. Throws `RejectedError` when there is no room for them: `rate_limited`, or `body_too_large` for what would not
   * fit alone either.
   */
  grow(bytes: number): void;
  /** Lets the body out. Repeating it changes nothing. */
  leave(): void;
};

export type BodyGate = {
  open(): Visit;
  /** What is counted now. */
  bytesInside(): number;
};

/** A gate for all bodies of one kind. `bytesMax`: what is in at once. */
export function createBodyGate({ bytesMax, smallBytes = 0, onRefused }: BodyGateOptions): BodyGate {
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
            onRefused?.();
            throw refusalOf(bytes > bytesMax);
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
    bytesInside: () => bytesInside,
  };
}

function refusalOf(isTooLargeAlone: boolean): RejectedError {
  if (isTooLargeAlone) return new RejectedError('body_too_large', 'The body takes more memory than there is for all.');
  return new RejectedError('rate_limited', 'Too many large bodies are under way; send this one again in a moment.');
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
