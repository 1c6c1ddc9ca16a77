/**
 * The one catalogue of error codes, each with its HTTP status and a title, and the two errors that say who must act:
 * `RejectedError` (the caller: change the request) and `UnavailableError` (the world: try again later).
 * Anything else that is thrown is a bug.
 */
import { z } from 'zod';

export const errorCatalogue = {
  // requests
  invalid_request: { status: 400, title: 'The request is not valid' },
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body has to be JSON' },
  unauthorized: { status: 401, title: 'A valid key is needed' },
  forbidden: { status: 403, title: 'The key may not do this' },
  not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'This path does not take that method' },
  conflict: { status: 409, title: 'The request no longer applies' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key belongs to another request' },
  not_supported: { status: 422, title: 'This is not supported yet' },
  unknown_agent: { status: 404, title: 'There is no such agent' },
  unknown_tool: { status: 404, title: 'There is no such tool' },
  unknown_run: { status: 404, title: 'There is no such run' },
  unknown_route: { status: 404, title: 'There is no such model route' },
  run_ended: { status: 409, title: 'The run has ended' },
  // models and money
  budget_exceeded: { status: 402, title: 'A budget does not allow this call' },
  model_price_unknown: { status: 400, title: 'The model has no known price' },
  model_unavailable: { status: 502, title: 'No model endpoint gave an answer' },
  model_refused: { status: 400, title: 'The model endpoint refused the request' },
  model_bad_reply: { status: 502, title: 'The model endpoint gave a broken answer' },
  residency_blocked: { status: 403, title: 'No endpoint is allowed for this class of data' },
  deadline: { status: 504, title: 'The time limit was reached' },
  // tools
  invalid_arguments: { status: 400, title: 'The arguments do not fit the tool' },
  invalid_arguments_json: { status: 400, title: 'The arguments are not valid JSON' },
  tool_not_allowed: { status: 403, title: 'The agent may not use this tool here' },
  too_many_tool_calls: { status: 429, title: 'The run has no tool calls left' },
  duplicate_call: { status: 409, title: 'The same call was made before' },
  tool_timeout: { status: 504, title: 'The tool took too long' },
  tool_failed: { status: 502, title: 'The tool failed' },
  tool_unreachable: { status: 502, title: 'The tool could not be reached' },
  tool_result_too_large: { status: 502, title: 'The result of the tool is too large' },
  target_not_allowed: { status: 403, title: 'The address of the tool is not allowed' },
  secret_missing: { status: 500, title: 'A secret that the tool needs is not set' },
  in_doubt: { status: 500, title: 'Nobody knows whether the effect happened' },
  run_stopped: { status: 409, title: 'The run stopped before the call was made' },
  // the service itself
  unavailable: { status: 503, title: 'A part that is needed does not answer' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/**
 * The caller's fault: answered with the code's 4xx status, and a message that caused it is terminated. `members` are told beside
 * the code, for programs (extension members of RFC 9457).
 */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
  readonly code: ErrorCode;
  readonly members: Readonly<Record<string, unknown>>;
  constructor(code: ErrorCode, detail: string, members: Readonly<Record<string, unknown>> = {}) {
    super(detail);
    this.code = code;
    this.members = members;
  }
}

/** The world's fault: answered with 503, and a message that met it is delivered again later. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
  readonly code: ErrorCode = 'unavailable';
  constructor(detail: string, cause?: unknown) {
    super(detail, cause === undefined ? undefined : { cause });
  }
}

/** The forms of a problem document, one per entry of the catalogue. */
export const problemSchema = z.discriminatedUnion('code', problemForms());

/** A problem document (RFC 9457) with Pawl's `code`. `title` and `status` are those of the catalogue. */
export type Problem = { type: string; title: string; status: number; detail: string; code: ErrorCode };

/** The problem document of a code. */
export function problem(code: ErrorCode, detail: string): Problem {
  const { status, title } = errorCatalogue[code];
  return { type: typeOf(code), title, status, detail, code };
}

function typeOf(code: ErrorCode): string {
  return `https://pawl.dev/problems/${code}`;
}

function problemForms() {
  const [first, ...others] = (Object.keys(errorCatalogue) as ErrorCode[]).map((code) =>
    z.object({
      type: z.literal(typeOf(code)),
      title: z.literal(errorCatalogue[code].title),
      status: z.literal(errorCatalogue[code].status),
      detail: z.string(),
      code: z.literal(code),
    }),
  );
  if (!first) throw new TypeError('an empty catalogue');
  return [first, ...others] as const;
}
