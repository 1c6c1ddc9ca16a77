/** POST /v1/embeddings: held, charged and routed like every call; there is no output to pay for. */
import { z } from 'zod';
import { guardApp, type Http } from '@pawl/service';
import type { ModelRequest } from '../call/model-request.ts';
import { callerOf, callIdOf, type HttpCaller } from './caller.ts';
import type { OpenAiDeps } from './chat-completions.ts';
import { answerCall } from './cached-call.ts';
import { findModel } from './find-model.ts';

const token = z.number().int().nonnegative();
const embeddingsRequestSchema = z.strictObject({
  model: z.string().min(1).max(200),
  input: z.union([
    z.string().min(1),
    z.array(z.string()).min(1).max(2_048),
    z.array(token).min(1),
    z.array(z.array(token).min(1)).min(1).max(2_048),
  ]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().positive().nullish(),
  user: z.string().max(500).nullish(),
});
type EmbeddingsRequest = z.infer<typeof embeddingsRequestSchema>;

const deadlineMs = 120_000;

export function serveEmbeddings(http: Http, deps: OpenAiDeps): void {
  const onRequest = guardApp(deps.authorizer, 'chat');
  http.post('/v1/embeddings', { onRequest, schema: { body: embeddingsRequestSchema } }, async (request, reply) => {
    const caller = callerOf(request, deps.authorizer);
    const { body } = request;
    const modelRequest = requestOf(deps, caller, body);
    const { answer } = await deps.calls.run(reply.raw, (signal) =>
      answerCall(deps.callDeps, { caller, request: modelRequest, body, signal, onPiece() {} }),
    );
    const { inputTokens } = answer.usage;
    return {
      object: 'list',
      data: answer.body,
      model: body.model,
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
    };
  });
}

function requestOf(deps: OpenAiDeps, caller: HttpCaller, body: EmbeddingsRequest): ModelRequest {
  const callId = callIdOf(caller, 'embd');
  const { input, dimensions } = body;
  return {
    address: { runId: callId, m: 0 },
    isExclusive: true,
    isAskedOnce: caller.idempotencyKey === undefined,
    operation: 'embeddings',
    spender: { app: caller.app, userId: caller.userId, keyId: caller.keyId, runs: [] },
    forRunId: caller.forRunId,
    purpose: 'embed',
    ...findModel(deps.registry, caller.app, body.model),
    // What is asked, in the form in which its tokens are bounded and counted.
    messages: [{ role: 'user', content: input }],
    tools: [],
    options: {
      input,
      encoding_format: body.encoding_format ?? 'float',
      ...(dimensions == null ? {} : { dimensions }),
    },
    choices: 1,
    outputTokensMax: 0,
    outputTokensMin: { budget: 0, run: 0 },
    dataClasses: [],
    deadlineAtMs: Date.now() + deadlineMs,
    callIdPrefix: callId,
  };
}
