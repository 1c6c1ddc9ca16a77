/**
 * What an error of a model call means. Pure but for the clock that reads dates in headers.
 * Messages that leave here are at most 500 characters and hold no key.
 */
import OpenAI from 'openai';
import { AddressError } from './address-guard.ts';
import { parseRetryAfterMs } from './retry-after.ts';

export type Failure =
  /** The endpoint won't take this request, now or later. Nothing was spent. */
  | {
      kind: 'refused';
      code: 'model_refused' | 'target_not_allowed';
      message: string;
      status?: number;
      /** Whether the request is too long for the model. */
      isTooLong?: boolean;
      /** Whether it is the form of the request that it does not take. */
      isForm?: boolean;
    }
  /** It may take it later. Nothing was spent. */
  | { kind: 'busy'; message: string; retryAfterMs: number | undefined; isRateLimit?: boolean }
  /** It had begun, or may have. */
  | { kind: 'broken'; code: 'model_unavailable' | 'model_bad_reply'; message: string };

const messageCharactersMax = 500;
/** How providers say that a request does not fit into the model's context. */
const tooLong =
  /context.?length|context.?window|maximum context|prompt is too long|too many (input )?tokens|request_too_large/i;
const waitingStatuses = new Set([408, 409, 429]);

/** What went wrong before the head of a response came. */
export function failureOfRequest(error: unknown, apiKey: string): Failure {
  const causes = chainOf(error);
  const address = causes.find((cause) => cause instanceof AddressError);
  if (address) return { kind: 'refused', code: 'target_not_allowed', message: address.message };
  if (error instanceof OpenAI.APIError && error.status !== undefined) return failureOfStatus(error, apiKey);
  const code = causes.map(codeOf).find((found) => found !== undefined);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return { kind: 'busy', message: 'the connection to the model endpoint took too long', retryAfterMs: undefined };
  }
  const message = `the model endpoint could not be reached (${code ?? 'connection failed'})`;
  return { kind: 'busy', message, retryAfterMs: undefined };
}

/** What went wrong after the head of a response came. */
export function failureOfStream(error: unknown, apiKey: string): Failure {
  if (error instanceof OpenAI.APIError) {
    return {
      kind: 'broken',
      code: 'model_unavailable',
      message: `the model endpoint broke off: ${safeMessage(error, apiKey)}`,
    };
  }
  if (error instanceof SyntaxError) {
    return { kind: 'broken', code: 'model_bad_reply', message: 'the model endpoint sent something that is not JSON' };
  }
  const code = chainOf(error)
    .map(codeOf)
    .find((found) => found !== undefined);
  return {
    kind: 'broken',
    code: 'model_unavailable',
    message: `the model endpoint broke off (${code ?? 'connection lost'})`,
  };
}

function failureOfStatus(error: InstanceType<typeof OpenAI.APIError>, apiKey: string): Failure {
  const status = Number(error.status);
  const message = `HTTP ${status}: ${safeMessage(error, apiKey)}`.slice(0, messageCharactersMax);
  if (status < 500 && !waitingStatuses.has(status)) {
    const isForm = status === 400 || status === 422;
    const isTooLong = (isForm || status === 413) && tooLong.test(`${String(error.code)} ${message}`);
    return { kind: 'refused', code: 'model_refused', message, status, isForm: isForm && !isTooLong, isTooLong };
  }
  return {
    kind: 'busy',
    message,
    retryAfterMs: parseRetryAfterMs(error.headers, Date.now()),
    isRateLimit: status === 429,
  };
}

/** The provider's own words, without anything that looks like a key. */
function safeMessage(error: InstanceType<typeof OpenAI.APIError>, apiKey: string): string {
  const body: unknown = error.error;
  const told = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined;
  const text = typeof told === 'string' && told !== '' ? told : error.message;
  const withoutKey = apiKey.length >= 4 ? text.replaceAll(apiKey, '***') : text;
  return withoutKey
    .replaceAll(/\b(sk|pk|key|api|token|bearer)[-_ ][\w*.-]{6,}/gi, '***')
    .slice(0, messageCharactersMax);
}

function chainOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause) chain.push(cause);
  return chain;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
