/** POST /v1/responses: create and stream, with function tools. */
import type { FastifyReply } from 'fastify';
import { guardApp, type Http } from '@pawl/service';
import { answerOfAgent, keepAliveEveryMs } from './agent-completions.ts';
import { agentNameOf } from './agent-model.ts';
import { callerOf } from './caller.ts';
import { requestOf, type OpenAiDeps } from './chat-completions.ts';
import { piecesOf } from './chat-bodies.ts';
import { answerCall } from './cached-call.ts';
import type { CallAnswer } from './complete-call.ts';
import { createEventStream } from './event-stream.ts';
import { createEventTeller, responseBody, statusOf, type ResponseState, type StreamEvent } from './responses-bodies.ts';
import type { KeptItems } from './kept-items.ts';
import { chatRequestOf, isKept, responsesRequestSchema, type ResponsesRequest } from './responses-request.ts';
import { denialOfError } from './stream-error.ts';
import type { Piece } from '../providers/reply-assembly.ts';

export function serveResponses(http: Http, deps: OpenAiDeps & { items: KeptItems }): void {
  const onRequest = guardApp(deps.authorizer, 'chat');
  http.post('/v1/responses', { onRequest, schema: { body: responsesRequestSchema } }, async (request, reply) => {
    const caller = callerOf(request, deps.authorizer);
    const { body } = request;
    const chat = chatRequestOf({ ...body, input: await deps.items.resolve(caller.app, body.input) });
    const agent = agentNameOf(body.model);
    const authorization = request.headers.authorization ?? '';
    const modelRequest = agent === undefined ? requestOf(deps.registry, caller, chat) : undefined;
    const answer = (onPiece: (piece: Piece) => void): Promise<Answer> =>
      deps.calls.run(reply.raw, async (signal) => {
        if (modelRequest)
          return await answerCall(deps.callDeps, {
            caller,
            request: modelRequest,
            body,
            isKept: isKept(body),
            signal,
            onPiece,
          });
        const call = { agent: agent ?? '', body: chat, caller, authorization };
        return { answer: await answerOfAgent(deps, call, signal), isReplay: true };
      });
    if (body.stream) return await streamResponse(reply, { body, id: modelRequest?.address.runId, answer });
    const whole = await answer(() => {});
    return responseBody(headOf(whole.answer), body, endOf(whole.answer));
  });
}

type Answer = { answer: CallAnswer; isReplay: boolean };
type Streaming = {
  body: ResponsesRequest;
  /** Of the call; absent while a run has none yet. */
  id: string | undefined;
  answer(onPiece: (piece: Piece) => void): Promise<Answer>;
};

async function streamResponse(reply: FastifyReply, { body, id, answer }: Streaming): Promise<FastifyReply> {
  const stream = createEventStream(reply, {});
  let sequence = 0;
  const send = (event: StreamEvent) => {
    stream.send({ ...event, sequence_number: sequence }, event.type);
    sequence += 1;
  };
  let head = { id: `resp_${id ?? ''}`, createdS: Math.floor(Date.now() / 1_000) };
  let teller = createEventTeller(head, send);
  const begin = () => {
    if (sequence > 0) return;
    for (const type of ['response.created', 'response.in_progress']) {
      send({ type, response: responseBody(head, body, { status: 'in_progress' }) });
    }
  };
  // A run says nothing before its end.
  const timer = id === undefined ? setInterval(() => stream.keepAlive(), keepAliveEveryMs) : undefined;
  try {
    const { answer: whole, isReplay } = await answer((piece) => {
      begin();
      teller.tell(piece);
    });
    if (sequence === 0) {
      head = { ...head, id: `resp_${whole.id}` };
      teller = createEventTeller(head, send);
      begin();
    }
    const { choice } = endOf(whole);
    if (isReplay) piecesOf([choice]).forEach(teller.tell);
    teller.finish(choice);
    const state = endOf(whole);
    send({ type: `response.${state.status}`, response: responseBody(head, body, state) });
  } catch (error) {
    if (!stream.hasBegun()) throw error;
    begin();
    const { code, message } = denialOfError(error);
    send({
      type: 'response.failed',
      response: responseBody(head, body, { status: 'failed', error: { code, message } }),
    });
  } finally {
    clearInterval(timer);
  }
  stream.end();
  return reply;
}

function headOf({ id, createdS }: CallAnswer) {
  return { id: `resp_${id}`, createdS };
}

function endOf({
  choices: [choice],
  usage,
}: CallAnswer): ResponseState & { choice: NonNullable<ResponseState['choice']> } {
  if (!choice) throw new TypeError('an answer without choices');
  return { status: statusOf(choice), choice, usage };
}
