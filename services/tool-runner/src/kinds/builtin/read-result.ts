/**
 * Pages by characters, lines or rows through a whole result of the same run that an observation showed only in part. The result is
 * read piece by piece, so a large one is never in memory and holds up nobody else.
 */
import { refusal, type Outcome } from '../../call/outcome.ts';
import { createPartReader, stepsOf } from '../../results/json-parts.ts';
import { isOfRun, isPlainText, type OpenResult, type ResultStore } from '../../results/result-store.ts';
import { createPage, type PageOf } from './result-page.ts';

export type ReadResult = PageOf & {
  app: string;
  runId: string | undefined;
  /** JSON Pointer (RFC 6901) to the part that is meant, such as `/rows/7/name`. */
  path?: string | undefined;
  signal: AbortSignal;
};

const stepsMax = 64;

/** A reference names its app and run; one of another run gets the same answer as one that doesn't exist. */
export async function readResult(results: ResultStore, asked: ReadResult): Promise<Outcome> {
  const { app, runId, ref } = asked;
  const isOwn = runId !== undefined && isOfRun(ref, { app, runId });
  const stored = isOwn ? await results.open(ref) : undefined;
  if (!stored) {
    const suggestion = 'Use the ref of an earlier observation of this run whose result was truncated.';
    return refusal(
      'invalid_arguments',
      `/ref: there is no result under "${ref.slice(0, 120)}" in this run.`,
      suggestion,
    );
  }
  if (stored.contentType !== undefined) {
    const suggestion = 'Tell the user about it; the page of the run shows it.';
    return refusal('invalid_arguments', `/ref: that is ${stored.contentType}, which has no text.`, suggestion);
  }
  return await pageOf(stored, asked);
}

async function pageOf(stored: OpenResult, asked: ReadResult): Promise<Outcome> {
  const { path, ref } = asked;
  const isPlain = isPlainText(ref) && path === undefined;
  const page = createPage(asked, isPlain);
  const part = path === undefined ? undefined : createPartReader(stepsOf(path).slice(0, stepsMax), page.sink);
  const sink = part ?? page.sink;
  const decoder = new TextDecoder();
  for await (const chunk of stored.chunks) {
    asked.signal.throwIfAborted();
    sink.write(decoder.decode(chunk, { stream: true }));
  }
  sink.write(decoder.decode());
  sink.end();
  if (part && !part.isFound()) {
    return refusal('invalid_arguments', `/path: the result has nothing at "${path?.slice(0, 120)}".`);
  }
  return page.outcome();
}
