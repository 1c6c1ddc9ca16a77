/**
 * Tool kind `http`: one request to an endpoint that the app declared. Must not reach private addresses unless the operator
 * allows them, must not read more than its cap, and sends a write at most once.
 */
import { Agent } from 'undici';
import { RejectedError, type Tool } from '@pawl/contracts';
import { traceHeaders } from '@pawl/telemetry';
import { isRepeatable } from '../call/observation-of.ts';
import { BrokenOffError, refusal, type Failure, type Outcome } from '../call/outcome.ts';
import { buildRequest, placeholdersOf, type HttpRequest } from './http/http-request.ts';
import { BadRedirectError, sendRequest } from './http/send-request.ts';
import { ResponseTooLargeError, sizeOf } from '../results/take-body.ts';
import { TargetNotAllowedError, type Targets } from '@pawl/service/targets';
import type { HeavyWork } from '../heavy/heavy-work.ts';
import type { Kind, KindCall } from './kind.ts';
import { fillSecrets, type AppSecrets, type SecretSource } from './secrets.ts';
import { declaredParameters } from './sql.ts';

export type HttpKindOptions = { targets: Targets; secrets: AppSecrets; resultBytesMax: number; heavy: HeavyWork };

const connectTimeoutMs = 10_000;

export function createHttpKind({ targets, secrets, resultBytesMax, heavy }: HttpKindOptions): Kind {
  const connect = targets.connector({ timeout: connectTimeoutMs });
  const dispatcher = new Agent({ connect, keepAliveTimeout: 10_000 });
  // A kept connection may be closed by the server just as it is used; what may not be sent twice gets a fresh one.
  const freshDispatcher = new Agent({ connect, pipelining: 0 });
  return {
    check: (tool) => checkHttp(tool, targets),
    close: async () => void (await Promise.all([dispatcher.destroy(), freshDispatcher.destroy()])),
    async execute(call) {
      const built = buildRequest(call.tool, call.args);
      if ('problem' in built) return refusal('invalid_arguments', built.problem);
      const declared = declaredHeaders(call.tool, secrets(call.app));
      if ('failure' in declared) return declared.failure;
      let mayHaveActed = false;
      try {
        const answer = await sendRequest(built.request, {
          dispatcher: isRepeatable(call.tool.spec) ? dispatcher : freshDispatcher,
          targets,
          openHeaders: openHeaders(call),
          ownHeaders: { ...declared.headers, ...(call.effectKey ? { 'idempotency-key': call.effectKey } : {}) },
          bytesMax: resultBytesMax,
          spool: call.spool,
          onLife: call.onLife,
          onMayHaveActed: () => (mayHaveActed = true),
          signal: call.signal,
        });
        const outcome = await heavy.run('outcomeOfAnswer', sizeOf(answer.body), answer);
        return mayHaveActed ? afterRedirect(outcome) : outcome;
      } catch (error) {
        const failure = failureOf(error, built.request);
        return mayHaveActed ? afterRedirect(failure) : failure;
      }
    },
  };
}

function openHeaders({ trace }: KindCall): Record<string, string> {
  return {
    accept: 'application/json, text/*;q=0.9, */*;q=0.1',
    'accept-encoding': 'identity',
    'user-agent': 'pawl-tool-runner',
    ...traceHeaders(trace),
  };
}

function declaredHeaders(
  tool: Tool,
  secrets: SecretSource,
): { headers: Record<string, string> } | { failure: Failure } {
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(tool.spec.http?.headers ?? {})) {
    const filled = fillSecrets(template, secrets);
    if ('failure' in filled) return filled;
    headers[name.toLowerCase()] = filled.text.trim();
  }
  return { headers };
}

/** What was redirected to can't say that nothing was done before. */
function afterRedirect(outcome: Outcome): Outcome {
  if (outcome.kind !== 'failure') return outcome;
  return { ...outcome, message: `The tool redirected. ${outcome.message}`, effect: 'possible' };
}

/** Connecting failed before anything was sent: refused, no such host, no route, no TLS. */
const connectCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
/** Everything after that: sockets, HTTP that can't be parsed, bodies that end early or can't be decompressed. */
const socketCodes = /^(ECONNRESET|EPIPE|ETIMEDOUT|UND_ERR_|HPE_|Z_|ERR_STREAM|ERR_BROTLI|ERR__ERROR)/;

function failureOf(error: unknown, { url }: HttpRequest): Outcome {
  if (error instanceof BrokenOffError) throw error;
  const rejected = error instanceof TargetNotAllowedError ? error : causeOf(error);
  if (rejected instanceof TargetNotAllowedError) {
    return refusal('target_not_allowed', rejected.message, "Don't call it again; use another tool.");
  }
  if (error instanceof ResponseTooLargeError) {
    const message = 'The answer of the tool is larger than what is taken.';
    return {
      ...broken('tool_result_too_large', message, error),
      suggestion: 'Ask for less, for example by a filter or a page.',
      isTransient: false,
    };
  }
  if (error instanceof BadRedirectError) return { ...broken('tool_failed', error.message, error), isTransient: false };
  const code = codeOf(error);
  if (connectCodes.test(code)) {
    return { ...broken('tool_unreachable', `The tool at ${url.host} could not be reached.`, error), effect: 'none' };
  }
  if (socketCodes.test(code))
    return broken('tool_failed', 'The answer of the tool broke off or could not be read.', error);
  throw error;
}

function broken(code: Failure['code'], message: string, error: unknown): Failure {
  const text = error instanceof Error ? `${codeOf(error)} ${error.name}: ${error.message}` : String(error);
  return {
    kind: 'failure',
    code,
    message,
    suggestion: 'Call it again later, or use another tool.',
    rawError: text,
    isTransient: true,
    effect: 'possible',
  };
}

/** Several addresses of one name fail with an AggregateError, whose code is that of its first. */
function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return code;
  const cause = causeOf(error);
  return cause === undefined ? '' : codeOf(cause);
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** Headers that belong to the connection, to the key of the effect or to the trace. */
const managedHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'transfer-encoding',
  'content-length',
  'accept-encoding',
  'idempotency-key',
  'traceparent',
]);

function checkHttp(tool: Tool, targets: Targets): void {
  const { http, parameters } = tool.spec;
  if (!http) throw new TypeError('not a tool of kind http');
  const declared = declaredParameters(parameters);
  const unknown = placeholdersOf(http.url).filter((name) => !declared.has(name));
  if (unknown.length > 0) {
    throw new RejectedError(
      'invalid_request',
      `spec.http.url uses {${unknown.join('}, {')}}, which spec.parameters.properties doesn't declare`,
    );
  }
  const managed = Object.keys(http.headers ?? {}).find((name) => managedHeaders.has(name.toLowerCase()));
  if (managed !== undefined)
    throw new RejectedError('invalid_request', `spec.http.headers: ${managed} is set by the runner itself`);
  // A placeholder in the host would let the model choose whom to talk to.
  const [, authority = ''] = /^[a-z]+:\/\/([^/?#]*)/i.exec(http.url) ?? [];
  if (authority.includes('{'))
    throw new RejectedError('invalid_request', 'spec.http.url: the host must not hold a placeholder');
  const url = URL.parse(http.url.replaceAll(/\{[^{}]*\}/g, 'x'));
  if (!url) throw new RejectedError('invalid_request', 'spec.http.url is not a URL');
  const problem = targets.problemOf(url);
  if (problem !== undefined) throw new RejectedError('target_not_allowed', problem);
}
