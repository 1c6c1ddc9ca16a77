/** The objects and events of OpenAI's Responses API for one reply. Pure. */
import type { Usage } from '@pawl/contracts';
import type { AssembledChoice, Piece } from '../providers/reply-assembly.ts';
import { isKept, type ResponsesRequest } from './responses-request.ts';

/** An event of a stream, without its number. */
export type StreamEvent = { type: string; [field: string]: unknown };

export type ResponseHead = { id: string; createdS: number };

/** How a response stands; `choice` is what there is of it. */
export type ResponseState = {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  choice?: AssembledChoice;
  usage?: Usage;
  error?: { code: string; message: string };
};

/** A whole reply that ended at its limit is incomplete. */
export function statusOf({ finishReason }: AssembledChoice): 'completed' | 'incomplete' {
  return finishReason === 'length' || finishReason === 'content_filter' ? 'incomplete' : 'completed';
}

export function responseBody(head: ResponseHead, request: ResponsesRequest, state: ResponseState): object {
  const { choice, usage, status } = state;
  const reason = choice?.finishReason === 'content_filter' ? 'content_filter' : 'max_output_tokens';
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdS,
    status,
    error: state.error ?? null,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model: request.model,
    output: choice ? itemsOf(head, choice) : [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    store: isKept(request),
    temperature: request.temperature ?? null,
    text: { format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: request.top_p ?? null,
    truncation: request.truncation ?? 'disabled',
    usage: usage ? usageBody(usage) : null,
  };
}

/** Turns pieces into events, in the order in which items begin: the message, then each call. */
export function createEventTeller(head: ResponseHead, send: (event: StreamEvent) => void) {
  const began: ('message' | number)[] = [];
  const indexOf = (item: 'message' | number): number => {
    if (!began.includes(item)) began.push(item);
    return began.indexOf(item);
  };
  const messageId = messageIdOf(head);
  const beginMessage = () => {
    if (began.includes('message')) return;
    const output_index = indexOf('message');
    const item = { type: 'message', id: messageId, status: 'in_progress', role: 'assistant', content: [] };
    send({ type: 'response.output_item.added', output_index, item });
    const part = { type: 'output_text', text: '', annotations: [] };
    send({ type: 'response.content_part.added', item_id: messageId, output_index, content_index: 0, part });
  };
  const tellCall = (piece: Piece & { kind: 'call' }) => {
    const { position, args } = piece;
    const item_id = callItemId(head, position);
    if (!began.includes(position)) {
      const item = callItem(head, position, {
        id: piece.id ?? '',
        tool: piece.tool ?? '',
        args: '',
        status: 'in_progress',
      });
      send({ type: 'response.output_item.added', output_index: indexOf(position), item });
    }
    if (args === '') return;
    const output_index = indexOf(position);
    send({ type: 'response.function_call_arguments.delta', item_id, output_index, delta: args });
  };
  return {
    tell(piece: Piece) {
      if (piece.choice !== 0 || piece.kind === 'finish') return;
      if (piece.kind === 'call') return tellCall(piece);
      beginMessage();
      const place = { item_id: messageId, output_index: indexOf('message'), content_index: 0 };
      send({ type: 'response.output_text.delta', ...place, delta: piece.text, logprobs: [] });
    },
    finish(choice: AssembledChoice) {
      for (const [output_index, item] of began.entries()) {
        for (const event of item === 'message' ? endOfMessage(head, choice) : endOfCall(head, choice, item)) {
          send({ ...event, output_index });
        }
      }
    },
  };
}

function endOfMessage(head: ResponseHead, choice: AssembledChoice): StreamEvent[] {
  const item = messageItem(head, choice);
  const [part] = item.content;
  const place = { item_id: item.id, content_index: 0 };
  return [
    { type: 'response.output_text.done', ...place, text: choice.text || choice.refusal, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', item },
  ];
}

function endOfCall(head: ResponseHead, { calls }: AssembledChoice, position: number): StreamEvent[] {
  const call = calls[position];
  if (!call) return [];
  const item = callItem(head, position, { ...call, status: 'completed' });
  const done = {
    type: 'response.function_call_arguments.done',
    item_id: item.id,
    name: call.tool,
    arguments: call.args,
  };
  return [done, { type: 'response.output_item.done', item }];
}

function itemsOf(head: ResponseHead, choice: AssembledChoice): object[] {
  const hasText = choice.text !== '' || choice.refusal !== '' || choice.calls.length === 0;
  return [
    ...(hasText ? [messageItem(head, choice)] : []),
    ...choice.calls.map((call, position) => callItem(head, position, { ...call, status: 'completed' })),
  ];
}

function messageItem(head: ResponseHead, choice: AssembledChoice) {
  return {
    type: 'message',
    id: messageIdOf(head),
    status: statusOf(choice),
    role: 'assistant',
    content: [{ type: 'output_text', text: choice.text || choice.refusal, annotations: [] }],
  };
}

function callItem(
  head: ResponseHead,
  position: number,
  call: { id: string; tool: string; args: string; status: 'in_progress' | 'completed' },
) {
  const id = callItemId(head, position);
  return { type: 'function_call', id, call_id: call.id, name: call.tool, arguments: call.args, status: call.status };
}

function messageIdOf({ id }: ResponseHead): string {
  return `msg_${id.slice(-32)}`;
}

function callItemId({ id }: ResponseHead, position: number): string {
  return `fc_${id.slice(-32)}_${position}`;
}

function usageBody(usage: Usage): object {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}
