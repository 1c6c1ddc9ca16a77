/**
 * POST /v1/chat/completions: reads the conversation, lets the model decide, answers as one object or as a stream.
 *
 * 1. A client that leaves ends the work: no timer and no stream lives on after its connection.
 * 2. The meter has a completed request before the client can know of it.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ResponseHead, chunkBodies, unaryBody } from '../completion/bodies.ts';
import { type Completion, createCompletion } from '../completion/completion.ts';
import type { SimModel, SimReply } from '../completion/reply.ts';
import { type ChatRequest, chatRequestSchema, offeredTools } from '../conversation/chat-request.ts';
import { conversation } from '../conversation/conversation.ts';
import { findOrderBreach } from '../conversation/message-order.ts';
import type { Meter } from '../meter.ts';
import { ChatError, errorBody, toChatError } from './errors.ts';

const NO_USAGE = { promptTokens: 0, completionTokens: 0 };

/** Registers the route. `models` are looked up by the request's model name. */
export function registerChatCompletions(server: FastifyInstance, models: ReadonlyMap<string, SimModel>, meter: Meter) {
  server.post('/v1/chat/completions', async (httpRequest, httpReply) => {
    const leave = new AbortController();
    httpReply.raw.once('close', () => leave.abort());
    try {
      return await answer({ httpRequest, httpReply, models, meter, signal: leave.signal });
    } catch (error) {
      const chatError = toChatError(error);
      const outcome = leave.signal.aborted ? 'aborted' : 'failed';
      meter.add({ ...claimedRequest(httpRequest.body), outcome, code: chatError.code, usage: NO_USAGE });
      throw chatError;
    }
  });
}

interface Exchange {
  httpRequest: FastifyRequest;
  httpReply: FastifyReply;
  models: ReadonlyMap<string, SimModel>;
  meter: Meter;
  signal: AbortSignal;
}

async function answer({ httpRequest, httpReply, models, meter, signal }: Exchange) {
  const request = parseRequest(httpRequest.body);
  const model = models.get(request.model);
  if (model === undefined) {
    const message = `model ${request.model} is not in the script; there are: ${[...models.keys()].join(', ')}`;
    throw new ChatError({ status: 404, code: 'model_not_found', message });
  }
  if (model.delayMs) await delay(model.delayMs, undefined, { signal });
  const context = conversation(request.messages, offeredTools(request));
  const source = { body: request, headers: httpRequest.headers, signal };
  const reply = await Promise.race([model.respond(context, source), rejectionOn(signal)]);
  if (reply.fail !== undefined) throw new ChatError(reply.fail);

  const id = randomUUID().replaceAll('-', '');
  const head = { id: `chatcmpl-${id}`, createdS: Math.floor(Date.now() / 1_000), model: request.model };
  const completion = createCompletion(request, reply, `call_${id.slice(0, 20)}`);
  const metered = { model: request.model, responseId: head.id, usage: completion.usage };
  if (request.stream !== true) {
    if (reply.breakAfterChunks !== undefined) {
      meter.add({ ...metered, isStream: false, outcome: 'failed' });
      httpReply.hijack().raw.destroy();
      return httpReply;
    }
    meter.add({ ...metered, isStream: false, outcome: 'completed' });
    return unaryBody(head, completion);
  }
  const stream = eventStream({ request, head, completion, model, reply, signal }, (outcome) =>
    meter.add({ ...metered, isStream: true, outcome }),
  );
  return httpReply
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('cache-control', 'no-cache')
    .send(Readable.from(stream));
}

interface Streaming {
  request: ChatRequest;
  head: ResponseHead;
  completion: Completion;
  model: SimModel;
  reply: SimReply;
  signal: AbortSignal;
}

async function* eventStream(streaming: Streaming, onEnd: (outcome: 'completed' | 'aborted' | 'failed') => void) {
  const { request, head, completion, model, reply, signal } = streaming;
  const hasUsage = request.stream_options?.include_usage === true && !reply.isUsageHidden;
  const chunks = chunkBodies(head, completion, hasUsage);
  let outcome: 'completed' | 'aborted' | 'failed' = 'aborted';
  try {
    for (const [index, chunk] of chunks.entries()) {
      const pauseMs = index === 0 ? 0 : index === 1 ? model.firstTokenDelayMs : model.tokenDelayMs;
      if (pauseMs) await delay(pauseMs, undefined, { signal });
      if (reply.breakAfterChunks !== undefined && index >= reply.breakAfterChunks) {
        outcome = 'failed';
        throw new Error('the script breaks the stream here');
      }
      if (reply.fault && index >= reply.fault.afterChunks) {
        outcome = reply.fault.kind === 'stall' ? 'aborted' : 'failed';
        yield* faultyEnd(reply.fault.kind, signal);
        return;
      }
      yield `data: ${JSON.stringify(chunk)}\n\n`;
    }
    outcome = 'completed';
  } finally {
    onEnd(outcome);
  }
  yield 'data: [DONE]\n\n';
}

async function* faultyEnd(kind: 'stall' | 'garbage' | 'error' | 'end', signal: AbortSignal) {
  if (kind === 'stall') await rejectionOn(signal);
  if (kind === 'garbage') yield 'data: {"this is": no JSON\n\n';
  if (kind === 'error') {
    const error = errorBody(new ChatError({ status: 500, code: 'server_error', message: 'overloaded in the middle' }));
    yield `data: ${JSON.stringify(error)}\n\n`;
  }
}

function rejectionOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the client has left')), { once: true });
  });
}

function parseRequest(body: unknown): ChatRequest {
  const parsed = chatRequestSchema.safeParse(body);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${z.core.toDotPath(issue.path) || 'body'}: ${issue.message}`);
    throw new ChatError({ status: 400, code: 'invalid_request', message: issues.join('; ') });
  }
  const breach = findOrderBreach(parsed.data.messages);
  if (breach !== undefined) throw new ChatError({ status: 400, code: 'invalid_message_order', message: breach });
  return parsed.data;
}

function claimedRequest(body: unknown): { model: string; isStream: boolean } {
  const claim = z.object({ model: z.string().catch(''), stream: z.boolean().catch(false) }).safeParse(body);
  return { model: claim.data?.model ?? '', isStream: claim.data?.stream ?? false };
}
