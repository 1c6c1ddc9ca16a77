/** A chat completion by an agent: the run's answer as the reply of a model. */
import type { FastifyReply } from 'fastify';
import { createRunSchema, noUsage, type CreateRun, type RunView } from '@pawl/contracts';
import type { AssembledChoice } from '../providers/reply-assembly.ts';
import type { HttpCaller } from './caller.ts';
import { completionBody, pieceBody, piecesOf, usageChunkBody } from './chat-bodies.ts';
import type { OpenAiDeps } from './chat-completions.ts';
import type { ChatRequest } from './chat-request.ts';
import { createEventStream } from './event-stream.ts';
import { OpenAiError } from './openai-errors.ts';
import { endWithError } from './stream-error.ts';

const keepAliveEveryMs = 10_000;

export type AgentExchange = {
  agent: string;
  body: ChatRequest;
  caller: HttpCaller;
  authorization: string;
  reply: FastifyReply;
};

/** Answers as the agent: unary, or as a stream that says nothing until the answer is there. */
export async function answerAsAgent(deps: OpenAiDeps, exchange: AgentExchange): Promise<object> {
  const { agent, body, caller, authorization, reply } = exchange;
  const run = runOf(agent, body, caller);
  const answer = () =>
    deps.calls.run(reply.raw, (signal) => deps.agents.answer({ run, caller, authorization, signal }));
  const createdS = Math.floor(Date.now() / 1_000);
  const headOf = ({ id }: RunView) => ({ id: `chatcmpl-${id}`, createdS, model: body.model });
  if (!body.stream) {
    const view = await answer();
    void reply.header('x-pawl-run', view.id);
    return completionBody({ head: headOf(view), choices: [choiceOf(view)], usage: usageOf(view) });
  }
  const stream = createEventStream(reply, {});
  const timer = setInterval(() => stream.keepAlive(), keepAliveEveryMs);
  try {
    const view = await answer();
    const head = headOf(view);
    const hasUsage = body.stream_options?.include_usage ?? false;
    for (const [index, piece] of piecesOf([choiceOf(view)]).entries()) {
      stream.send(pieceBody(head, piece, { isFirst: index === 0, hasUsage }));
    }
    if (hasUsage) stream.send(usageChunkBody(head, usageOf(view)));
    stream.send('[DONE]');
    stream.end();
  } catch (error) {
    endWithError(stream, error);
  } finally {
    clearInterval(timer);
  }
  return reply;
}

/** The last message of the user is the run's input; what was said before it is what the agent finds around it. */
function runOf(agent: string, { messages }: ChatRequest, caller: HttpCaller): CreateRun {
  const spoken = messages.flatMap((message) =>
    message.role === 'tool' ? [] : [{ role: message.role, text: textOf(message.content) }],
  );
  const last = spoken.findLastIndex(({ role }) => role === 'user');
  const input = spoken[last]?.text ?? '';
  const conversation = spoken.slice(0, Math.max(0, last)).filter(({ text }) => text !== '');
  const parsed = createRunSchema.safeParse({
    agent,
    input,
    ...(caller.userId === undefined ? {} : { user: { id: caller.userId } }),
    ...(conversation.length === 0 ? {} : { environment: { conversation } }),
  });
  if (parsed.success) return parsed.data;
  const message = 'An agent needs a user message with text, and a name as in "agent:sales-analyst".';
  throw new OpenAiError({ code: 'invalid_request', message }, 'messages');
}

type Content = ChatRequest['messages'][number]['content'];

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** A run that stopped for another reason than its answer is to a client what a model is that ran into its limit. */
function choiceOf(view: RunView): AssembledChoice {
  if (view.answer === null) {
    const message = `The run ${view.id} ${view.status === 'ended' ? 'ended' : 'waits'} without an answer: ${view.detail ?? view.status}`;
    throw new OpenAiError({ code: 'model_unavailable', message });
  }
  const finishReason = view.stopReason === 'final_answer' ? 'stop' : 'length';
  return { text: view.answer, refusal: '', calls: [], finishReason };
}

/** A run counts its tokens as one number. */
function usageOf({ tokens }: RunView) {
  return { ...noUsage, inputTokens: tokens };
}
