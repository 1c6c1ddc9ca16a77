/** The one place where errors become HTTP answers (RFC 9457 problem documents). */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { problem, RejectedError, UnavailableError, type Problem } from '@pawl/contracts';
import type { Log } from './log.ts';

/** Answers with a problem document. */
export function sendProblem(reply: FastifyReply, document: Problem): FastifyReply {
  if (document.status === 503 || document.code === 'rate_limited') void reply.header('retry-after', '1');
  if (document.status === 401) void reply.header('www-authenticate', 'Bearer');
  return reply.code(document.status).type('application/problem+json').send(JSON.stringify(document));
}

/** Turns whatever a handler threw into an answer. Bugs are logged with their stack and told as 500 without detail. */
export function createErrorHandler(log: Log) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const document = problemOf(error);
    if (document.status >= 500) {
      log.error(
        { err: describeFailure(error), method: request.method, route: request.routeOptions?.url, code: document.code },
        'a request failed',
      );
    }
    return sendProblem(reply, document);
  };
}

/** Without what libraries hang on their errors (rows, validation input, headers): bodies never go into the log. */
function describeFailure(error: Error): object {
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  return { type: error.name, message: error.message, stack: error.stack, ...cause };
}

function problemOf(error: FastifyError | Error): Problem {
  if (error instanceof RejectedError) return { ...error.members, ...problem(error.code, error.message) };
  if (error instanceof UnavailableError) return problem(error.code, error.message);
  if (hasZodFastifySchemaValidationErrors(error)) {
    const mistakes = error.validation.map(({ instancePath, message }) => describeMistake(instancePath, message));
    return problem('invalid_request', mistakes.join('; '));
  }
  if (isNulRefused(error)) return problem('invalid_request', 'a text of the request holds the character NUL');
  const status = 'statusCode' in error ? error.statusCode : undefined;
  const code = 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return problem('body_too_large', error.message);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return problem('unsupported_media_type', 'send the body as application/json');
  }
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY') return problem('invalid_json', 'the body is empty; JSON was expected');
  if (code === 'FST_ERR_BAD_URL') return problem('invalid_request', 'the path is not valid percent-encoding');
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return problem('invalid_request', error.message);
  if (status === 404) return problem('not_found', error.message);
  if (status !== undefined && status >= 400 && status < 500) return problem('invalid_request', error.message);
  return problem('internal_error', 'the service met a mistake of its own; the log has the details');
}

/** SQLSTATEs of Postgres, whose texts can't hold NUL; what comes from inside never has it. */
function isNulRefused(error: Error): boolean {
  return 'code' in error && (error.code === '22021' || error.code === '22P05');
}

function describeMistake(instancePath: string, message: string | undefined): string {
  const path = instancePath.split('/').filter(Boolean).join('.');
  return path === '' ? (message ?? 'not valid') : `${path}: ${message ?? 'not valid'}`;
}
