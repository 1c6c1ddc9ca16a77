/** What an HTTP answer means for the call. Pure; the sentences are data. */
import { compactJson, maxDepthOf, textData } from '@pawl/calls';
import type { ErrorCode } from '@pawl/contracts';
import type { Failure, Outcome, Stored } from '../../call/outcome.ts';
import type { Body } from '../../results/take-body.ts';
import { textOfHtml } from './html-text.ts';
import { decoderOf, isHtml, isJson, isTextual, mediaType } from './media-types.ts';
import sentences from './http-statuses.json' with { type: 'json' };

export type HttpAnswer = {
  status: number;
  contentType: string | undefined;
  retryAfter: string | undefined;
  /** Whether the text was brought to UTF-8 already, whatever its type says. */
  isUtf8?: boolean;
  body: Body;
};

const sentenceOf: Readonly<Record<string, { message: string; suggestion: string } | undefined>> = sentences;
const transientStatuses = new Set([408, 502, 503, 504]);
const errorDataCharsMax = 4_000;
/** Deeper JSON is shown as a text: readers further on may not take it. */
const jsonDepthMax = 500;

/** The outcome of a final answer (no redirect). */
export function outcomeOfAnswer(answer: HttpAnswer): Outcome {
  const { status, body } = answer;
  const type = mediaType(answer.contentType);
  if ('stored' in body) return isTextual(type) ? body.stored : mediaOutcome(type, body.stored);
  if (status >= 400) return failureOfStatus(answer, body.bytes);
  if (body.bytes.length === 0) {
    return { kind: 'result', data: 'null', note: `The tool answered without content (HTTP ${status}).` };
  }
  if (isTextual(type)) return { kind: 'result', data: dataOf(answer, body.bytes) };
  const data = JSON.stringify({ contentType: type, bytes: body.bytes.length });
  return { kind: 'result', data, note: `The tool answered with ${type}, which can't be shown as text.` };
}

/** A picture or another file stays out of the text: the model learns what it is, and the page shows it by its reference. */
function mediaOutcome(contentType: string, { ref, bytes, isCut }: Stored): Outcome {
  const data = JSON.stringify({ contentType, bytes, ref });
  const note = `The tool answered with ${contentType}, which is kept by reference; people see it on the page of the run.`;
  return { kind: 'result', data, note, ...(isCut ? { incomplete: `Only its first ${bytes} bytes were kept.` } : {}) };
}

function failureOfStatus(answer: HttpAnswer, bytes: Buffer): Failure {
  const { status, retryAfter } = answer;
  const known = sentenceOf[String(status)];
  const wait =
    status === 429 && retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter)
      ? ` It asks to wait ${retryAfter} s.`
      : '';
  const data = status < 500 ? errorData(answer, bytes) : undefined;
  return {
    kind: 'failure',
    code: codeOf(status),
    message: `${known?.message ?? `The tool answered with an error (HTTP ${status}).`}${wait}`,
    suggestion: known?.suggestion ?? 'Check the arguments, or use another tool.',
    ...(data === undefined ? {} : { data }),
    rawError: `HTTP ${status} ${answer.contentType ?? ''}\n${bytes.subarray(0, 16_000).toString('utf8')}`,
    isTransient: transientStatuses.has(status),
    // An answer in the 400s says that the tool refused; one in the 500s (and 408) leaves open how far it came.
    effect: status >= 500 || status === 408 ? 'possible' : 'none',
  };
}

function codeOf(status: number): ErrorCode {
  if (status === 429) return 'rate_limited';
  return 'tool_failed';
}

/** What a tool says about a refusal helps the model; a page of HTML or a stack trace does not. */
function errorData(answer: HttpAnswer, bytes: Buffer): string | undefined {
  if (!isJson(mediaType(answer.contentType)) || bytes.length > errorDataCharsMax) return undefined;
  return jsonOf(bytes.toString('utf8'));
}

function dataOf({ contentType, isUtf8 = false }: HttpAnswer, bytes: Buffer): string {
  const type = mediaType(contentType);
  const text = isUtf8 ? new TextDecoder().decode(bytes) : decoderOf(contentType).decode(bytes);
  const json = isJson(type) ? jsonOf(text) : undefined;
  return json ?? textData(isHtml(type) ? textOfHtml(text) : text);
}

function jsonOf(text: string): string | undefined {
  if (maxDepthOf(text) > jsonDepthMax) return undefined;
  try {
    JSON.parse(text);
    return compactJson(text.trim());
  } catch {
    return undefined;
  }
}
