/**
 * Errors in OpenAI's shape, and how faults become HTTP statuses.
 */
import type { SimFailure } from '../completion/reply.ts';
import { SimRuleError } from '../completion/reply.ts';

/** A refusal with its HTTP status. */
export class ChatError extends Error {
  override readonly name = 'ChatError';
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;

  constructor(failure: SimFailure) {
    super(failure.message ?? `the script answers with status ${failure.status}`);
    this.status = failure.status;
    this.code = failure.code ?? 'sim_failure';
    this.headers = failure.headers ?? {};
  }
}

/** Any thrown value as a ChatError: rule errors are 400, the server's own errors keep their status, the rest is 500. */
export function toChatError(error: unknown): ChatError {
  if (error instanceof ChatError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof SimRuleError) return new ChatError({ status: 400, code: error.code, message });
  const status = statusOf(error);
  if (status === 413) return new ChatError({ status, code: 'request_too_large', message: 'the body is over 64 MiB' });
  return new ChatError({ status, code: status < 500 ? 'invalid_request' : 'internal_error', message });
}

/** The body of an error response. */
export function errorBody(error: ChatError) {
  const type =
    error.status === 429 ? 'rate_limit_error' : error.status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message: error.message, type, param: null, code: error.code } };
}

function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
}
