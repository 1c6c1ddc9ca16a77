/**
 * Anthropic's Messages API over `@anthropic-ai/sdk`, as a stream of chat-completion chunks. Usage there counts the parts of the
 * input apart; here they are parts of the whole. It is told only when the reply has ended: what is told before is not final.
 */
import type Anthropic from '@anthropic-ai/sdk';
import { messagesRequestOf } from './anthropic-request.ts';
import type { ModelCall } from './call-model.ts';
import type { Endpoints } from './endpoints.ts';
import type { ReplyChunk } from './reply-assembly.ts';

/** Opens the stream: resolves with the head of the response, throws what the package throws. */
export async function openMessagesStream(
  endpoints: Endpoints,
  call: ModelCall,
  signal: AbortSignal,
): Promise<AsyncIterable<ReplyChunk>> {
  const { candidate, apiKey, timeouts } = call;
  const client = endpoints.anthropic({ baseUrl: candidate.baseUrl, apiKey, connectMs: timeouts.connectMs });
  // Writing to the cache costs more than reading the prompt: only where the price says how much.
  const isCached = candidate.price === undefined || candidate.price.cacheWritePerMillion !== undefined;
  const stream = await client.messages.create(messagesRequestOf(call, isCached), { signal });
  return chunksOf(stream);
}

const finishReasons: Record<string, string> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

type Counted = {
  input_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  output_tokens?: number | null;
};

async function* chunksOf(stream: AsyncIterable<Anthropic.RawMessageStreamEvent>): AsyncGenerator<ReplyChunk> {
  let counted: Counted = {};
  /** Blocks that are calls, by their place in the reply. */
  const calls = new Map<number, number>();
  for await (const event of stream) {
    switch (event.type) {
      case 'message_start':
        counted = { ...event.message.usage };
        yield { id: event.message.id, model: event.message.model };
        break;
      case 'content_block_start': {
        const { content_block: block, index } = event;
        if (block.type === 'text' && block.text !== '') yield deltaChunk({ content: block.text });
        if (block.type !== 'tool_use') break;
        calls.set(index, calls.size);
        yield deltaChunk({ tool_calls: [{ index: calls.size - 1, id: block.id, function: { name: block.name } }] });
        break;
      }
      case 'content_block_delta':
        yield* deltasOf(event, calls);
        break;
      case 'message_delta': {
        counted = { ...counted, ...withoutNulls(event.usage) };
        const reason = event.delta.stop_reason;
        const finish_reason = reason === null ? null : (finishReasons[reason] ?? 'stop');
        yield { choices: [{ index: 0, delta: {}, finish_reason }], usage: usageOf(counted) };
        break;
      }
      default:
    }
  }
}

function* deltasOf({ delta, index }: Anthropic.RawContentBlockDeltaEvent, calls: Map<number, number>) {
  if (delta.type === 'text_delta') yield deltaChunk({ content: delta.text });
  if (delta.type === 'thinking_delta') yield deltaChunk({ reasoning_content: delta.thinking });
  const position = calls.get(index);
  if (delta.type === 'input_json_delta' && position !== undefined) {
    yield deltaChunk({ tool_calls: [{ index: position, function: { arguments: delta.partial_json } }] });
  }
}

function deltaChunk(delta: NonNullable<NonNullable<ReplyChunk['choices']>[number]['delta']>): ReplyChunk {
  return { choices: [{ index: 0, delta }] };
}

function usageOf(counted: Counted): object {
  const cached = counted.cache_read_input_tokens ?? 0;
  const written = counted.cache_creation_input_tokens ?? 0;
  return {
    prompt_tokens: (counted.input_tokens ?? 0) + cached + written,
    completion_tokens: counted.output_tokens ?? 0,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  };
}

function withoutNulls(counted: object): Counted {
  return Object.fromEntries(Object.entries(counted).filter(([, value]) => typeof value === 'number'));
}
