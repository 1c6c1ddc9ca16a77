/** A chat completion by an agent: the run's answer as the reply of a model. */
import type { FastifyReply } from 'fastify';
import { createRunSchema, noUsage, type CreateRun } from '@pawl/contracts';
import type { AssembledChoice } from '../providers/reply-assembly.ts';
import type { HttpCaller } from './caller.ts';
import { completionBody, pieceBody, piecesOf, usageChunkBody } from './chat-bodies.ts';
import type { AgentRun } from './agent-model.ts';
import type { OpenAiDeps } from './chat-completions.ts';
import type { ChatRequest } from './chat-request.ts';
import type { CallAnswer } from './complete-call.ts';
import { createEventStream } from './event-stream.ts';
import { OpenAiError } from './openai-errors.ts';
import { endWithError } from './stream-error.ts';

/** So often a client hears that its stream is alive while a run goes on. */
export const keepAliveEveryMs = 10_000;

export type AgentAsked = { agent: string; body: ChatRequest; caller: HttpCaller; authorization: string };

/** What a run of the agent answers. Throws `OpenAiError` when it has no answer. */
export async function answerOfAgent(deps: OpenAiDeps, asked: AgentAsked, signal: AbortSignal): Promise<CallAnswer> {
  const { agent, body, caller, authorization } = asked;
  const view = await deps.agents.answer({ run: runOf(agent, body, caller), caller, authorization, signal });
  const createdS = Math.floor(Date.parse(view.startedAt) / 1_000);
  return { id: view.id, createdS, choices: [choiceOf(view)], usage: usageOf(view) };
}

/** Answers as the agent: unary, or as a stream that says nothing until the answer is there. */
export async function answerAsAgent(
  deps: OpenAiDeps,
  { reply, ...asked }: AgentAsked & { reply: FastifyReply },
): Promise<object> {
  const { body } = asked;
  const answer = () => deps.calls.run(reply.raw, (signal) => answerOfAgent(deps, asked, signal));
  const headOf = ({ id, createdS }: CallAnswer) => ({ id: `chatcmpl-${id}`, createdS, model: body.model });
  if (!body.stream) {
    const whole = await answer();
    void reply.header('x-pawl-run', whole.id);
    return completionBody({ head: headOf(whole), choices: whole.choices, usage: whole.usage });
  }
  const stream = createEventStream(reply, {});
  const timer = setInterval(() => stream.keepAlive(), keepAliveEveryMs);
  try {
    const whole = await answer();
    const hasUsage = body.stream_options?.include_usage ?? false;
    for (const [index, piece] of piecesOf(whole.choices).entries()) {
      stream.send(pieceBody(headOf(whole), piece, { isFirst: index === 0, hasUsage }));
    }
    if (hasUsage) stream.send(usageChunkBody(headOf(whole), whole.usage));
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
function choiceOf(view: AgentRun): AssembledChoice {
  if (view.answer === null) {
    const message = `The run ${view.id} ${view.status === 'ended' ? 'ended' : 'waits'} without an answer: ${view.detail ?? view.status}`;
    throw new OpenAiError({ code: 'model_unavailable', message });
  }
  const finishReason = view.stopReason === 'final_answer' ? 'stop' : 'length';
  return { text: view.answer, refusal: '', calls: [], finishReason };
}

/** A run counts its tokens as one number. */
function usageOf({ tokens }: AgentRun) {
  return { ...noUsage, inputTokens: tokens };
}
