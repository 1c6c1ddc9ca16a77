/**
 * Tool kind `mcp`: a tool of a declared MCP server. A call is made once; only what may be repeated is sent again to a server that
 * has lost its session. Must not call a tool whose definition the app hasn't accepted, and takes no more than its cap.
 */
import { ProtocolError, SdkHttpError, type Tool as McpTool } from '@modelcontextprotocol/client';
import { type ArgumentValidator, parseExact } from '@pawl/calls';
import { fingerprint, RejectedError, type Tool } from '@pawl/contracts';
import { formatTraceparent } from '@pawl/telemetry';
import { isRepeatable, isWrite } from '../call/observation-of.ts';
import { refusal, type Outcome } from '../call/outcome.ts';
import type { Kind, KindCall } from './kind.ts';
import { callFailure, connectFailure } from './mcp/call-failure.ts';
import type { CallScope, McpConnection } from './mcp/connect-server.ts';
import type { Acceptance, DefinitionGate } from './mcp/definition-gate.ts';
import type { McpDefinition } from './mcp/list-tools.ts';
import type { McpServers } from './mcp/mcp-servers.ts';
import { rpcCodes } from './mcp/reply-guard.ts';
import { storeMedia } from './mcp/store-media.ts';
import { outcomeOfLong, outcomeOfResult } from './mcp/tool-result.ts';

export type McpKindOptions = {
  servers: McpServers;
  gate: Pick<DefinitionGate, 'acceptance'>;
  validator: ArgumentValidator;
};

export function createMcpKind(options: McpKindOptions): Kind {
  return {
    check: (tool) => void targetOf(tool),
    close: () => options.servers.close(),
    async execute(call) {
      const first = await callOnce(call, options);
      if (!('isSessionLost' in first)) return first;
      if (!isRepeatable(call.tool.spec)) return first.failure;
      const second = await callOnce(call, options);
      return 'isSessionLost' in second ? second.failure : second;
    },
  };
}

function targetOf(tool: Tool): { server: string; tool: string } {
  if (!tool.spec.mcp) throw new RejectedError('invalid_request', 'not a tool of kind mcp');
  return tool.spec.mcp;
}

type SessionLost = { isSessionLost: true; failure: Outcome };

async function callOnce(call: KindCall, options: McpKindOptions): Promise<Outcome | SessionLost> {
  const { servers } = options;
  const { server } = targetOf(call.tool);
  const opened = await unlessAborted(call, servers.open(call.app, server)).catch((error: unknown) => {
    if (call.signal.aborted) throw call.signal.reason;
    return { failure: connectFailure(error, server) };
  });
  if ('failure' in opened) return opened.failure;
  const { connection } = opened;
  let isSent = false;
  try {
    const admitted = await admit(call, connection, options);
    if ('outcome' in admitted) return admitted.outcome;
    // A lost session is noticed before anything is sent that may not be sent twice.
    if (!isRepeatable(call.tool.spec) && connection.hasSession()) await connection.client.ping({ signal: call.signal });
    isSent = true;
    return await send(call, { connection, ...admitted, validator: options.validator });
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    const isLost = connection.isClosed() || isSessionGone(error, connection);
    if (isLost) servers.lose(call.app, server, connection);
    const failure = callFailure(error, { server, isSent, stderr: connection.stderr() });
    if (isLost && !isSent) return await afterLostSession(call, options, failure);
    return isLost ? { isSessionLost: true, failure } : failure;
  }
}

/** Nothing was sent yet, so beginning anew repeats nothing; once. */
async function afterLostSession(
  call: KindCall,
  options: McpKindOptions,
  failure: Outcome,
): Promise<Outcome | SessionLost> {
  const { server } = targetOf(call.tool);
  const opened = await options.servers
    .open(call.app, server)
    .catch((error: unknown) => ({ failure: connectFailure(error, server) }));
  if ('failure' in opened) return opened.failure;
  const admitted = await admit(call, opened.connection, options).catch(() => ({ outcome: failure }));
  if ('outcome' in admitted) return admitted.outcome;
  try {
    return await send(call, { ...opened, ...admitted, validator: options.validator });
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    return callFailure(error, { server, isSent: true, stderr: opened.connection.stderr() });
  }
}

/** The tool has to be offered, and to be the one that was accepted. */
async function admit(
  call: KindCall,
  connection: McpConnection,
  { gate, validator }: McpKindOptions,
): Promise<{ definition: McpDefinition } | { outcome: Outcome }> {
  const { server, tool } = targetOf(call.tool);
  const list = await unlessAborted(call, connection.tools(call.signal));
  const definition = list.tools.get(tool);
  if (!definition)
    return { outcome: refusal('tool_failed', `The server ${server} offers no tool ${tool}.`, 'Use another tool.') };
  const accepted = await gate.acceptance({ app: call.app, server, tool, hash: fingerprint(definition) });
  const refused = accepted.isAccepted ? await decidedBefore(call, accepted) : changed(server, tool);
  if (refused) return { outcome: refused };
  if (call.tool.spec.parameters === undefined) {
    const verdict = validator.validate(definition.inputSchema, {
      value: call.args.value,
      charCount: call.args.text.length,
    });
    if (!verdict.isValid)
      return { outcome: refusal('invalid_arguments', verdict.message, 'Correct the arguments and call it again.') };
  }
  return { definition };
}

function changed(server: string, tool: string): Outcome {
  const message = `The server ${server} has changed what ${tool} is. It is not called until the app accepts the change.`;
  return refusal('tool_not_allowed', message, "Don't call it again; use another tool.");
}

/** A call that was asked for, or put before a person, while the tool was another one is void (I11). */
async function decidedBefore(call: KindCall, { changedAtMs }: Acceptance): Promise<Outcome | undefined> {
  if (changedAtMs === undefined) return undefined;
  const askedAtMs = await call.askedAtMs?.();
  if (askedAtMs === undefined || askedAtMs > changedAtMs) return undefined;
  const message =
    'The server has changed what this tool is since the call was asked for, so what was approved is void.';
  return refusal('tool_not_allowed', message, 'Call it again, if it still is what you want.');
}

type Sending = { connection: McpConnection; definition: McpDefinition; validator: ArgumentValidator };

async function send(call: KindCall, { connection, definition, validator }: Sending): Promise<Outcome> {
  const { name, inputSchema, outputSchema } = definition;
  const meta = {
    traceparent: formatTraceparent(call.trace),
    ...(call.effectKey !== undefined && isWrite(call.tool.spec) ? { 'pawl.dev/idempotency-key': call.effectKey } : {}),
  };
  const { signal, spool, onLife, answerTo } = call;
  const own = { questions: [], isOver: false, long: undefined };
  const scope: CallScope = { signal, spool, onLife, answerTo, validator, ...own };
  const result = await connection.during(scope, () =>
    connection.client.callTool(
      { name, arguments: parseExact(call.args.text) as Record<string, unknown>, _meta: meta },
      {
        signal,
        // The call's own deadline rules, and comes before this one.
        timeout: Math.max(1_000, call.deadlineAtMs - Date.now() + 5_000),
        onprogress: () => onLife(),
        toolDefinition: { name, inputSchema } as McpTool,
      },
    ),
  );
  if (scope.long) return withQuestions(outcomeOfLong(scope.long), scope.questions);
  const outputProblem = (value: unknown) => {
    const verdict = validator.validate(outputSchema ?? {}, { value, charCount: JSON.stringify(value).length });
    return verdict.isValid ? undefined : verdict.message;
  };
  return withQuestions(
    outcomeOfResult(await storeMedia(result, spool), outputSchema !== undefined, outputProblem),
    scope.questions,
  );
}

/** A server that asks a person has to get the person's answer, which the run asks for. What it did without it isn't the result. */
function withQuestions(outcome: Outcome, questions: readonly string[]): Outcome {
  if (questions.length === 0) return outcome;
  const said = outcome.kind === 'result' ? (outcome.shown ?? outcome.data) : undefined;
  const failed = outcome.kind === 'failure' ? outcome : undefined;
  return {
    kind: 'failure',
    code: 'tool_failed',
    message: `The tool asks a person, and was told that nobody has answered yet: ${questions.join(' ')}`,
    suggestion: 'Ask the user this with ask_user, word for word, then call the tool again: it gets the answer.',
    ...(said === undefined
      ? {}
      : { data: said.slice(0, 4_000) === said ? said : JSON.stringify(said.slice(0, 4_000)) }),
    ...failed,
    ...(failed ? { message: `${failed.message} It asked a person: ${questions.join(' ')}` } : {}),
    isTransient: false,
    effect: failed?.effect ?? 'none',
  };
}

/** Servers of the older revisions answer 404 for a session that they don't know (any more). */
function isSessionGone(error: unknown, connection: McpConnection): boolean {
  if (error instanceof SdkHttpError) return error.status === 404 && connection.hasSession();
  return error instanceof ProtocolError && error.code === rpcCodes.invalidRequest && /session/i.test(error.message);
}

async function unlessAborted<T>({ signal }: KindCall, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
