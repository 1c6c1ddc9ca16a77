/**
 * What an error of a model call means. Pure but for the clock that reads dates in headers.
 * Messages that leave here are at most 500 characters and hold no key.
 */
import Anthropic from '@anthropic-ai/sdk';
import { TargetNotAllowedError } from '@pawl/service/targets';
import OpenAI from 'openai';
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

/** A request that has no counterpart in the endpoint's protocol. */
export class UnsupportedError extends Error {
  override readonly name = 'UnsupportedError';
}

type ApiError = InstanceType<typeof OpenAI.APIError> | InstanceType<typeof Anthropic.APIError>;

const messageCharactersMax = 500;
/** How providers say that a request does not fit into the model's context. */
const tooLong =
  /context.?length|context.?window|maximum context|prompt is too long|too many (input )?tokens|request_too_large/i;
const waitingStatuses = new Set([408, 409, 429]);

/** What went wrong before the head of a response came. */
export function failureOfRequest(error: unknown, apiKey: string): Failure {
  const causes = chainOf(error);
  const address = causes.find((cause) => cause instanceof TargetNotAllowedError);
  if (address) return { kind: 'refused', code: 'target_not_allowed', message: address.message };
  if (error instanceof UnsupportedError) return { kind: 'refused', code: 'model_refused', message: error.message };
  if (isApiError(error) && error.status !== undefined) return failureOfStatus(error, apiKey);
  const code = causes.map(codeOf).find((found) => found !== undefined);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return { kind: 'busy', message: 'the connection to the model endpoint took too long', retryAfterMs: undefined };
  }
  const message = `the model endpoint could not be reached (${code ?? 'connection failed'})`;
  return { kind: 'busy', message, retryAfterMs: undefined };
}

/** What went wrong after the head of a response came. */
export function failureOfStream(error: unknown, apiKey: string): Failure {
  if (isApiError(error)) {
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

function isApiError(error: unknown): error is ApiError {
  return error instanceof OpenAI.APIError || error instanceof Anthropic.APIError;
}

function failureOfStatus(error: ApiError, apiKey: string): Failure {
  const status = Number(error.status);
  const what = status === 401 ? 'the model endpoint refused the key (HTTP 401)' : `HTTP ${status}`;
  const message = `${what}: ${safeMessage(error, apiKey)}`.slice(0, messageCharactersMax);
  if (status < 500 && !waitingStatuses.has(status)) {
    const isForm = status === 400 || status === 422;
    const isTooLong =
      (isForm || status === 413) && tooLong.test(`${'code' in error ? String(error.code) : ''} ${message}`);
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
function safeMessage(error: ApiError, apiKey: string): string {
  const told = messageIn(error.error);
  const text = typeof told === 'string' && told !== '' ? told : error.message;
  const withoutKey = apiKey.length >= 4 ? text.replaceAll(apiKey, '***') : text;
  return withoutKey
    .replaceAll(/\b(sk|pk|key|api|token|bearer)(?:[-_][\w*.-]{6,}|\s(?=[a-z_.-]{0,200}[\d*])[\w*.-]{6,})/gi, '***')
    .slice(0, messageCharactersMax);
}

/** OpenAI's package gives the error itself, Anthropic's the body around it. */
function messageIn(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return undefined;
  if ('message' in body) return body.message;
  return 'error' in body ? messageIn(body.error) : undefined;
}

function chainOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause) chain.push(cause);
  return chain;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
