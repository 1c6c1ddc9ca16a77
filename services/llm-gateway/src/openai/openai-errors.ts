/**
 * Errors of the OpenAI-compatible API: OpenAI's shape, Pawl's codes. What must not be tried again as it is says so in
 * `x-should-retry`, which OpenAI's own clients obey; what may be says when.
 */
import { randomUUID } from 'node:crypto';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { errorCatalogue, RejectedError, UnavailableError, type ErrorCode } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import type { Denial } from '../call/outcome.ts';
import { tellingIssue, type Issue } from './telling-issue.ts';

/** A refusal with the field that it is about. */
export class OpenAiError extends Error {
  override readonly name = 'OpenAiError';
  readonly denial: Denial;
  readonly param: string | null;

  constructor(denial: Denial, param: string | null = null) {
    super(denial.message);
    this.denial = denial;
    this.param = param;
  }
}

/** Statuses at which asking again, as it is, can't help. */
const retriedStatuses = new Set([409, 429, 500, 502, 503, 504]);

/** The body of an error, as OpenAI has it. */
export function errorBody({ code, message }: Denial, param: string | null = null): object {
  return { error: { message, type: typeOf(errorCatalogue[code].status), param, code } };
}

/** Answers with whatever was thrown. Mistakes of our own are logged with their stack and told without it. */
export function createOpenAiErrorHandler(log: Log, bodyLimitBytes: number) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { denial, param } = describe(error, bodyLimitBytes);
    const { status } = errorCatalogue[denial.code];
    const requestId = `req_${randomUUID().replaceAll('-', '')}`;
    void reply.header('x-request-id', requestId);
    if (denial.code === 'internal_error') {
      const about = { type: error.name, message: error.message, stack: error.stack };
      log.error({ err: about, requestId, method: request.method, route: request.routeOptions.url }, 'a request failed');
    }
    return sendDenial(reply, status, { denial, param });
  };
}

function sendDenial(reply: FastifyReply, status: number, { denial, param }: Described): FastifyReply {
  const retryAfterMs = denial.retryAfterMs ?? (status === 503 ? 1_000 : undefined);
  if (retryAfterMs !== undefined) {
    void reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1_000))));
    void reply.header('retry-after-ms', String(Math.ceil(retryAfterMs)));
  }
  if (!retriedStatuses.has(status)) void reply.header('x-should-retry', 'false');
  return reply
    .code(status)
    .type('application/json')
    .send(JSON.stringify(errorBody(denial, param)));
}

type Described = { denial: Denial; param: string | null };

function describe(error: FastifyError | Error, bodyLimitBytes: number): Described {
  if (error instanceof OpenAiError) return { denial: error.denial, param: error.param };
  if (error instanceof RejectedError && error.code === 'rate_limited') {
    return { denial: { code: error.code, message: error.message, retryAfterMs: 1_000 }, param: null };
  }
  if (error instanceof RejectedError || error instanceof UnavailableError) return told(error.code, error.message);
  if (hasZodFastifySchemaValidationErrors(error)) {
    const [first] = error.validation;
    const path = first?.instancePath.split('/').filter(Boolean) ?? [];
    const issue = tellingIssue({ ...(first?.params as Partial<Issue>), path, message: first?.message ?? 'not valid' });
    const param = issue.path.join('.') || null;
    return told('invalid_request', param === null ? issue.message : `${param}: ${issue.message}`, param);
  }
  const code = 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return told(
      'body_too_large',
      `The body is over the limit of ${bodyLimitBytes} bytes (${bodyLimitBytes / 2 ** 20} MiB).`,
    );
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return told('unsupported_media_type', 'send the body as application/json');
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status !== undefined && status >= 400 && status < 500) return told('invalid_request', error.message);
  return told('internal_error', 'the service met a mistake of its own; the log has the details');
}

function told(code: ErrorCode, message: string, param: string | null = null): Described {
  return { denial: { code, message }, param };
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 402) return 'insufficient_quota';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
