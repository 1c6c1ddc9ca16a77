/**
 * A chat completion over the `openai` package, as a stream of chunks. Its events are read by a parser of their own, which takes
 * a third of the time.
 */
import type OpenAI from 'openai';
import { answerFormatOf } from './answer-format.ts';
import type { ModelCall } from './call-model.ts';
import type { Endpoints } from './endpoints.ts';
import type { ReplyChunk } from './reply-assembly.ts';
import { readReplyEvents } from './reply-events.ts';

/** Opens the stream: resolves with the head of the response, throws what the package throws. */
export async function openChatStream(
  endpoints: Endpoints,
  call: ModelCall,
  signal: AbortSignal,
): Promise<AsyncIterable<ReplyChunk>> {
  const { candidate, apiKey, timeouts } = call;
  const client = endpoints.client({ baseUrl: candidate.baseUrl, apiKey, connectMs: timeouts.connectMs });
  // OpenAI's newer models take only the newer name of the limit; most others know only the older one.
  const isOpenAi = candidate.provider === 'openai' || candidate.provider === 'azure';
  const body = {
    ...call.options,
    model: candidate.model,
    messages: call.messages as OpenAI.ChatCompletionMessageParam[],
    ...(call.tools.length === 0 ? {} : { tools: call.tools as OpenAI.ChatCompletionTool[] }),
    ...(isOpenAi ? { max_completion_tokens: call.maxOutputTokens } : { max_tokens: call.maxOutputTokens }),
    ...(call.choices === 1 ? {} : { n: call.choices }),
    ...(call.answerSchema === undefined ? {} : { response_format: answerFormatOf(call.answerSchema) }),
    stream: true as const,
    stream_options: { include_usage: true },
  };
  return readReplyEvents(await client.chat.completions.create(body, { signal }).asResponse());
}
