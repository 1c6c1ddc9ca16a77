/**
 * A chat completion as a stream of chunks, in the words and with the errors of the `openai` package. The request is posted and its
 * events are read without it: its own way takes four times the processor time.
 */
import OpenAI from 'openai';
import { answerFormatOf } from './answer-format.ts';
import type { ModelCall } from './call-model.ts';
import type { Endpoints } from './endpoints.ts';
import type { ReplyChunk } from './reply-assembly.ts';
import { readReplyEvents } from './reply-events.ts';

/** Opens the stream: resolves with the head of the response, throws `APIError` for a refusal, else what undici throws. */
export async function openChatStream(
  endpoints: Endpoints,
  call: ModelCall,
  signal: AbortSignal,
): Promise<AsyncIterable<ReplyChunk>> {
  const { candidate, apiKey, timeouts } = call;
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
  } satisfies OpenAI.ChatCompletionCreateParamsStreaming;
  const endpoint = { baseUrl: candidate.baseUrl, apiKey, connectMs: timeouts.connectMs };
  const response = await endpoints.post(endpoint, { path: 'chat/completions', body, signal });
  if (!response.ok) throw await errorOf(response);
  return readReplyEvents(response);
}

async function errorOf(response: Response): Promise<Error> {
  const text = await response.text();
  const { status, headers } = response;
  try {
    return OpenAI.APIError.generate(status, JSON.parse(text) as object, undefined, headers);
  } catch {
    return OpenAI.APIError.generate(status, undefined, text, headers);
  }
}
