/** Pages through a whole result of the same run that an observation showed only in part. */
import { refusal, type Outcome } from '../../call/outcome.ts';

/** Where whole results are kept. */
export type ResultStore = {
  put(of: { app: string; runId: string; m: number; i: number }, text: string): Promise<string>;
  get(ref: string): Promise<string | undefined>;
};

export type ReadResult = {
  app: string;
  runId: string | undefined;
  ref: string;
  offset: number;
  /** Characters wanted; fewer where they would not fit into `maxChars` of JSON. */
  limit: number | undefined;
  maxChars: number;
};

/** A reference names its app and run; one of another run gets the same answer as one that doesn't exist. */
export async function readResult(results: ResultStore, asked: ReadResult): Promise<Outcome> {
  const isOwn = asked.runId !== undefined && asked.ref.startsWith(`${asked.app}/${asked.runId}/`);
  const text = isOwn ? await results.get(asked.ref) : undefined;
  if (text === undefined) {
    const suggestion = 'Use the ref of an earlier observation of this run whose result was truncated.';
    return refusal(
      'invalid_arguments',
      `/ref: there is no result under "${asked.ref.slice(0, 120)}" in this run.`,
      suggestion,
    );
  }
  if (asked.offset > 0 && asked.offset >= text.length) {
    return refusal(
      'invalid_arguments',
      `/offset: expected less than ${text.length}, the characters of the result; got ${asked.offset}.`,
    );
  }
  return { kind: 'result', data: page(text, asked) };
}

/** The longest piece from the offset on that fits. */
function page(text: string, { ref, offset, limit, maxChars }: ReadResult): string {
  const render = (count: number) => {
    const end = Math.min(text.length, offset + count);
    const nextOffset = end < text.length ? end : null;
    return JSON.stringify({
      ref,
      offset,
      totalChars: text.length,
      nextOffset,
      text: text.slice(offset, end).toWellFormed(),
    });
  };
  let low = 1;
  let high = Math.min(limit ?? maxChars, maxChars, text.length - offset) + 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (render(middle).length <= maxChars) low = middle;
    else high = middle;
  }
  return render(low);
}
