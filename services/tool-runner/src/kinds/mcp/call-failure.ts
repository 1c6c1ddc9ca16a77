/** What errors of the MCP client library, its transports and ours mean for the call. Pure. */
import {
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { refusal, type Failure } from '../../call/outcome.ts';
import { TargetNotAllowedError } from '@pawl/service/targets';
import { guardCodes, rpcCodes } from './reply-guard.ts';

export type FailureContext = {
  server: string;
  /** Whether the call itself may have reached the server. */
  isSent: boolean;
  /** The last words of a child process. */
  stderr: string;
};

/** Connecting, and agreeing on a revision, calls nothing. */
export function connectFailure(error: unknown, server: string): Failure {
  const forbidden = causes(error).find((cause) => cause instanceof TargetNotAllowedError);
  if (forbidden) return refusal('target_not_allowed', forbidden.message, "Don't call it again; use another tool.");
  if (isCredentialProblem(error)) return { ...credentials(server), rawError: rawText(error, '') };
  return {
    kind: 'failure',
    code: 'tool_unreachable',
    message: `The MCP server ${server} could not be reached.`,
    suggestion: 'Call it again later, or use another tool.',
    rawError: rawText(error, ''),
    isTransient: true,
    effect: 'none',
  };
}

export function callFailure(error: unknown, { server, isSent, stderr }: FailureContext): Failure {
  const failure = failureOf(error, server);
  return { ...failure, rawError: rawText(error, stderr), effect: isSent ? failure.effect : 'none' };
}

function failureOf(error: unknown, server: string): Failure {
  const known = error instanceof ProtocolError ? protocolFailure(error) : undefined;
  if (known) return known;
  if (isCredentialProblem(error)) return credentials(server);
  if (causes(error).some((cause) => codeOf(cause) === 'ECONNREFUSED')) {
    return {
      ...failed(`The MCP server ${server} could not be reached.`),
      code: 'tool_unreachable',
      isTransient: true,
      effect: 'none',
    };
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
    return failed('The answer of the tool could not be read.');
  }
  return { ...failed('The answer of the tool broke off or could not be read.'), isTransient: true };
}

/** Errors that the server sent in the place of a result, and those that we put there. */
function protocolFailure(error: ProtocolError): Failure {
  const code: number = error.code;
  if (code === guardCodes.tooLarge) {
    return {
      ...failed('The answer of the tool is larger than what is taken.'),
      code: 'tool_result_too_large',
      suggestion: 'Ask for less, for example by a filter or a page.',
    };
  }
  if (code === guardCodes.otherRequest) return failed('The server answered another request in the place of this one.');
  const told = JSON.stringify(error.message.slice(0, 4_000).toWellFormed());
  if (code === rpcCodes.invalidParams) {
    const message = 'The server says that the arguments do not fit the tool.';
    return { ...refusal('invalid_arguments', message, 'Correct the arguments and call it again.'), data: told };
  }
  const isRefused = code === rpcCodes.methodNotFound || code === rpcCodes.invalidRequest;
  return {
    ...failed(`The server answered with an error (${code}).`),
    data: told,
    effect: isRefused ? 'none' : 'possible',
  };
}

function failed(message: string): Failure {
  return {
    kind: 'failure',
    code: 'tool_failed',
    message,
    suggestion: 'Call it again later, or use another tool.',
    isTransient: false,
    effect: 'possible',
  };
}

function credentials(server: string): Failure {
  const message = `The MCP server ${server} does not accept the credentials of this app.`;
  return refusal('tool_failed', message, 'Tell the user that this tool is not set up; use another tool.');
}

function isCredentialProblem(error: unknown): boolean {
  // What the authorization server refuses is not worth another try either.
  if (causes(error).some((cause) => cause instanceof UnauthorizedError || cause instanceof OAuthError)) return true;
  return error instanceof SdkHttpError && (error.status === 401 || error.status === 403);
}

/** An error with those that caused it, up to a bound. */
function causes(error: unknown): Error[] {
  const found: Error[] = [];
  let current = error;
  while (current instanceof Error && found.length < 10) {
    found.push(current);
    const { data } = current as { data?: unknown };
    current = current.cause ?? (typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined);
  }
  return found;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function rawText(error: unknown, stderr: string): string {
  const chain = causes(error).map((each) => `${codeOf(each) ?? ''} ${each.name}: ${each.message}`.trim());
  return [...(chain.length > 0 ? chain : [String(error)]), ...(stderr === '' ? [] : [`stderr: ${stderr}`])].join('\n');
}
