/** What an HTTP answer means for the call. Pure; the sentences are data. */
import type { ErrorCode } from '@pawl/contracts';
import { compactJson, maxDepthOf } from '../../arguments/json-slices.ts';
import type { Failure, Outcome } from '../../call/outcome.ts';
import { textData } from '../../call/visible-text.ts';
import { textOfHtml } from './html-text.ts';
import sentences from './http-statuses.json' with { type: 'json' };

export type HttpAnswer = {
  status: number;
  contentType: string | undefined;
  retryAfter: string | undefined;
  body: Buffer;
};

const sentenceOf: Readonly<Record<string, { message: string; suggestion: string } | undefined>> = sentences;
const transientStatuses = new Set([408, 502, 503, 504]);
const errorDataCharsMax = 4_000;
/** Deeper JSON is shown as a text: readers further on may not take it. */
const jsonDepthMax = 500;

/** The outcome of a final answer (no redirect). */
export function outcomeOfAnswer(answer: HttpAnswer): Outcome {
  if (answer.status >= 400) return failureOfStatus(answer);
  if (answer.body.length === 0) {
    return { kind: 'result', data: 'null', note: `The tool answered without content (HTTP ${answer.status}).` };
  }
  const type = mediaType(answer.contentType);
  if (isTextual(type)) return { kind: 'result', data: dataOf(answer, type) };
  const data = JSON.stringify({ contentType: type, bytes: answer.body.length });
  return { kind: 'result', data, note: `The tool answered with ${type}, which can't be shown as text.` };
}

function failureOfStatus(answer: HttpAnswer): Failure {
  const { status, retryAfter } = answer;
  const known = sentenceOf[String(status)];
  const wait =
    status === 429 && retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter)
      ? ` It asks to wait ${retryAfter} s.`
      : '';
  const data = status < 500 ? errorData(answer) : undefined;
  return {
    kind: 'failure',
    code: codeOf(status),
    message: `${known?.message ?? `The tool answered with an error (HTTP ${status}).`}${wait}`,
    suggestion: known?.suggestion ?? 'Check the arguments, or use another tool.',
    ...(data === undefined ? {} : { data }),
    rawError: `HTTP ${status} ${answer.contentType ?? ''}\n${answer.body.subarray(0, 16_000).toString('utf8')}`,
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
function errorData(answer: HttpAnswer): string | undefined {
  const type = mediaType(answer.contentType);
  if (!isJson(type) || answer.body.length > errorDataCharsMax) return undefined;
  return jsonOf(answer.body.toString('utf8'));
}

function dataOf(answer: HttpAnswer, type: string): string {
  const text = decode(answer);
  const json = isJson(type) ? jsonOf(text) : undefined;
  if (json !== undefined) return json;
  return textData(type === 'text/html' || type === 'application/xhtml+xml' ? textOfHtml(text) : text);
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

function decode({ body, contentType }: HttpAnswer): string {
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? 'text/plain').split(';')[0]?.trim().toLowerCase() ?? 'text/plain';
}

function isJson(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json');
}

function isTextual(type: string): boolean {
  const others = [
    'application/xml',
    'application/javascript',
    'application/yaml',
    'application/x-yaml',
    'application/x-ndjson',
    'application/csv',
  ];
  return isJson(type) || type.startsWith('text/') || type.endsWith('+xml') || others.includes(type);
}
