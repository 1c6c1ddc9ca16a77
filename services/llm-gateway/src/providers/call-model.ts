/**
 * One model call over the `openai` package, streamed. It says how the call ended and what is known of its usage; what
 * that costs and whether to try again is decided elsewhere. Texts of messages and replies are never logged.
 */
import type OpenAI from 'openai';
import type { ChatMessage, OfferedTool } from '@pawl/contracts';
import { answerFormatOf } from './answer-format.ts';
import { startCallClock, type Stop, type Timeouts } from './call-clock.ts';
import type { Endpoints } from './endpoints.ts';
import { failureOfRequest, failureOfStream, type Failure } from './failure.ts';
import { createReplyAssembly, type AssembledReply } from './reply-assembly.ts';

export type ModelCall = {
  provider: string;
  model: string;
  baseUrl: string | undefined;
  apiKey: string;
  messages: readonly ChatMessage[];
  tools: readonly OfferedTool[];
  /** JSON Schema that the endpoint is asked to hold the model to. */
  answerSchema?: object | undefined;
  /** At least 1; sent as the provider's own limit. */
  maxOutputTokens: number;
  timeouts: Timeouts;
  /** Until the run's deadline. */
  leftMs: number;
  /** Names calls that came without an id. */
  callIdPrefix: string;
  /** Aborted with a `Stop` as the reason. */
  signal: AbortSignal;
  onText(text: string): void;
};

export type ModelCallResult = {
  /** What came, whole or not. */
  reply: AssembledReply;
  /** From the start of the call. */
  firstTokenMs?: number;
  /** Whether the endpoint may bill for it: it took the request and did not refuse it. */
  mayCost: boolean;
  end: { kind: 'reply' } | Failure | { kind: 'stopped'; stop: Stop };
};

/** Makes the call and never throws for what the endpoint does. */
export async function callModel(endpoints: Endpoints, call: ModelCall): Promise<ModelCallResult> {
  const startedAt = performance.now();
  const abort = new AbortController();
  const onStop = () => abort.abort(call.signal.reason);
  if (call.signal.aborted) onStop();
  call.signal.addEventListener('abort', onStop, { once: true });
  const clock = startCallClock(call.timeouts, call.leftMs, (reason) => abort.abort(reason));
  const assembly = createReplyAssembly(call.callIdPrefix);
  let firstTokenMs: number | undefined;
  let hasHead = false;
  const wasSent = !call.signal.aborted;

  const finish = (end: ModelCallResult['end']): ModelCallResult => {
    const isStopped = abort.signal.aborted && end.kind !== 'reply';
    return {
      reply: assembly.result(),
      ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
      mayCost: isStopped ? wasSent : end.kind === 'reply' || end.kind === 'broken',
      end: isStopped ? { kind: 'stopped', stop: abort.signal.reason as Stop } : end,
    };
  };

  try {
    const stream = await openStream(endpoints, call, abort.signal);
    hasHead = true;
    clock.onHeaders();
    for await (const chunk of stream) {
      const { text, hasContent } = assembly.add(chunk);
      if (!hasContent) continue;
      firstTokenMs ??= performance.now() - startedAt;
      clock.onContent();
      if (text !== '') call.onText(text);
    }
    return finish(endOf(assembly.result()));
  } catch (error) {
    if (isWhole(assembly.result())) return finish({ kind: 'reply' });
    return finish(hasHead ? failureOfStream(error, call.apiKey) : failureOfRequest(error, call.apiKey));
  } finally {
    clock.end();
    call.signal.removeEventListener('abort', onStop);
  }
}

async function openStream(endpoints: Endpoints, call: ModelCall, signal: AbortSignal) {
  const { connectMs } = call.timeouts;
  const client = endpoints.client({ baseUrl: call.baseUrl, apiKey: call.apiKey, connectMs });
  // OpenAI's newer models take only the newer name of the limit; most others know only the older one.
  const isOpenAi = call.provider === 'openai' || call.provider === 'azure';
  return await client.chat.completions.create(
    {
      model: call.model,
      messages: call.messages as OpenAI.ChatCompletionMessageParam[],
      ...(call.tools.length === 0 ? {} : { tools: call.tools.map(toolOf) }),
      ...(isOpenAi ? { max_completion_tokens: call.maxOutputTokens } : { max_tokens: call.maxOutputTokens }),
      ...(call.answerSchema === undefined ? {} : { response_format: answerFormatOf(call.answerSchema) }),
      stream: true,
      stream_options: { include_usage: true },
    },
    { signal },
  );
}

function toolOf({ name, description, parameters }: OfferedTool): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters } };
}

/** A stream that ends quietly before the provider has said that it is finished is half an answer. */
function endOf(reply: AssembledReply): ModelCallResult['end'] {
  if (isWhole(reply)) return { kind: 'reply' };
  const message =
    reply.finishReason === undefined
      ? 'the model endpoint ended the stream in the middle of the reply'
      : 'the model asked for a tool call without naming the tool';
  return { kind: 'broken', code: 'model_bad_reply', message };
}

function isWhole(reply: AssembledReply): boolean {
  return reply.finishReason !== undefined && reply.calls.every((call) => call.tool !== '');
}
