/**
 * What executing a call came to, in the words of the kinds: a result, or a failure that says what it means for the caller.
 * Pure. Turning it into an observation is the same for every kind and happens in one place.
 */
import type { ErrorCode } from '@pawl/contracts';

export type Result = {
  kind: 'result';
  /** Compact JSON text of the whole result. */
  data: string;
  /** A shorter form of it for the model, which says itself what it leaves out. */
  shown?: string;
  /** Where the result is less than all there is: one sentence that says so. */
  incomplete?: string;
  /** One sentence for the model beside the data. */
  note?: string;
};

export type Failure = {
  kind: 'failure';
  code: ErrorCode;
  /** One plain sentence. */
  message: string;
  suggestion?: string;
  /** JSON text that the tool itself gave about its failure. */
  data?: string;
  /** The raw text, for engineers. Secrets are taken out before it is stored. */
  rawError?: string;
  /** Whether the same call may well succeed a moment later. */
  isTransient: boolean;
  /** Whether the tool may have acted. `none` only where that is certain. */
  effect: 'none' | 'possible';
};

/** A result that is too large to hold: it was stored while it was read. */
export type Stored = {
  kind: 'stored';
  ref: string;
  /** How much of it was stored. */
  bytes: number;
  /** Whether the tool had more to say than is kept. */
  isCut: boolean;
  /** The beginning and the end of what was stored. */
  head: string;
  tail: string;
  note?: string;
};

export type Outcome = Result | Stored | Failure;

/** `idle`: the tool gave no sign of life for too long. */
export type BrokenOffBy = 'timeout' | 'idle' | 'cancelled';

/** Why a call was broken off, as the reason of its abort signal. */
export class BrokenOffError extends Error {
  override readonly name = 'BrokenOffError';
  readonly by: BrokenOffBy;
  constructor(by: BrokenOffBy) {
    super(by);
    this.by = by;
  }
}

/** A failure before anything was sent. */
export function refusal(code: ErrorCode, message: string, suggestion?: string): Failure {
  return { kind: 'failure', code, message, ...(suggestion ? { suggestion } : {}), isTransient: false, effect: 'none' };
}
