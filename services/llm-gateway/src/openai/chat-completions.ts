/** POST /v1/chat/completions: a model, or an agent, over OpenAI's protocol; unary and streamed. */
import type { FastifyReply } from 'fastify';
import type { Registry } from '@pawl/bus';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import { leastOutput } from '../budget/requirement.ts';
import type { AnswerCache } from '../cache/answer-cache.ts';
import type { ModelRequest } from '../call/model-request.ts';
import { agentNameOf, type AgentModel } from './agent-model.ts';
import { answerAsAgent } from './agent-completions.ts';
import { callerOf, callIdOf, type HttpCaller } from './caller.ts';
import type { CallsUnderWay } from './calls-under-way.ts';
import { completionBody, pieceBody, piecesOf, usageChunkBody, type CompletionHead } from './chat-bodies.ts';
import { chatRequestSchema, optionsOf, type ChatRequest } from './chat-request.ts';
import { answerCall } from './cached-call.ts';
import type { CallAnswer, CompleteDeps } from './complete-call.ts';
import { createEventStream, type EventStream } from './event-stream.ts';
import { findModel } from './find-model.ts';
import { endWithError } from './stream-error.ts';

export type OpenAiDeps = {
  authorizer: Authorizer;
  registry: Registry;
  callDeps: CompleteDeps & { cache: AnswerCache };
  calls: CallsUnderWay;
  agents: AgentModel;
};

/** Of each choice, where the client sets no limit. */
export const outputTokensDefault = 4_096;
/** The least that is worth a call where the limit is ours. */
const outputTokensLeast = 256;
const deadlineMs = 600_000;

export function serveChatCompletions(http: Http, deps: OpenAiDeps): void {
  const onRequest = guardApp(deps.authorizer, 'chat');
  http.post('/v1/chat/completions', { onRequest, schema: { body: chatRequestSchema } }, async (request, reply) => {
    const caller = callerOf(request, deps.authorizer);
    const { body } = request;
    const agent = agentNameOf(body.model);
    if (agent !== undefined) {
      const authorization = request.headers.authorization ?? '';
      return await answerAsAgent(deps, { agent, body, caller, reply, authorization });
    }
    const modelRequest = requestOf(deps.registry, caller, body);
    return body.stream
      ? await streamCompletion(deps, { caller, body, reply, modelRequest })
      : await answerCompletion(deps, { caller, body, reply, modelRequest });
  });
}

type Exchange = { caller: HttpCaller; body: ChatRequest; reply: FastifyReply; modelRequest: ModelRequest };

function answerCompletion(deps: OpenAiDeps, { caller, body, reply, modelRequest }: Exchange): Promise<object> {
  return deps.calls.run(reply.raw, async (signal) => {
    const { answer, isCached } = await answerCall(deps.callDeps, {
      caller,
      request: modelRequest,
      body,
      signal,
      onPiece() {},
    });
    void reply.header('x-request-id', answer.id);
    if (isCached) void reply.header('x-pawl-cache', 'hit');
    return completionBody({ head: headOf(answer, body), choices: answer.choices, usage: answer.usage });
  });
}

async function streamCompletion(
  deps: OpenAiDeps,
  { caller, body, reply, modelRequest }: Exchange,
): Promise<FastifyReply> {
  const { runId: id } = modelRequest.address;
  const stream = createEventStream(reply, { 'x-request-id': id });
  const hasUsage = body.stream_options?.include_usage ?? false;
  const head = { id: `chatcmpl-${id}`, createdS: Math.floor(Date.now() / 1_000), model: body.model };
  const teller = createTeller(stream, { head, hasUsage });
  try {
    const { answer, isReplay } = await deps.calls.run(reply.raw, (signal) =>
      answerCall(deps.callDeps, { caller, request: modelRequest, body, signal, onPiece: teller.tell }),
    );
    if (isReplay) piecesOf(answer.choices).forEach(teller.tell);
    teller.finish();
    if (hasUsage) stream.send(usageChunkBody(head, answer.usage));
    stream.send('[DONE]');
    stream.end();
  } catch (error) {
    endWithError(stream, error);
  }
  return reply;
}

/** Sends pieces on as chunks. That a choice is finished is told last, when the call is settled. */
function createTeller(stream: EventStream, options: { head: CompletionHead; hasUsage: boolean }) {
  const begun = new Set<number>();
  const finishes: Parameters<typeof pieceBody>[1][] = [];
  const send = (piece: (typeof finishes)[0]) => {
    stream.send(pieceBody(options.head, piece, { isFirst: !begun.has(piece.choice), hasUsage: options.hasUsage }));
    begun.add(piece.choice);
  };
  return {
    tell: (piece: (typeof finishes)[0]) => void (piece.kind === 'finish' ? finishes.push(piece) : send(piece)),
    finish: () => finishes.forEach(send),
  };
}

function headOf({ id, createdS }: CallAnswer, { model }: ChatRequest): CompletionHead {
  return { id: `chatcmpl-${id}`, createdS, model };
}

/** What a chat-completions request asks the gateway for. Throws `OpenAiError` for a model that the app doesn't have. */
export function requestOf(registry: Registry, caller: HttpCaller, body: ChatRequest): ModelRequest {
  const choices = body.n ?? 1;
  const limit = body.max_completion_tokens ?? body.max_tokens;
  const outputTokensMax = (limit ?? outputTokensDefault) * choices;
  const least = outputTokensLeast * choices;
  const callId = callIdOf(caller, 'chat');
  return {
    address: { runId: callId, m: 0 },
    isExclusive: true,
    isAskedOnce: caller.idempotencyKey === undefined,
    spender: { app: caller.app, userId: caller.userId, keyId: caller.keyId, runs: [] },
    forRunId: caller.forRunId,
    purpose: 'chat',
    ...findModel(registry, caller.app, body.model),
    messages: body.messages,
    tools: body.tools ?? [],
    options: optionsOf(body),
    choices,
    outputTokensMax,
    outputTokensMin: limit == null ? { budget: least, run: least } : leastOutput(outputTokensMax),
    dataClasses: [],
    deadlineAtMs: Date.now() + deadlineMs,
    callIdPrefix: `call_${callId.slice(-12)}`,
  };
}
