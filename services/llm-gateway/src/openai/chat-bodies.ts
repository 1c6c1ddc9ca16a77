/**
 * OpenAI's two forms of a completion: one object, or chunks that say the same. Pure.
 */
import type { Usage } from '@pawl/contracts';
import type { AssembledChoice, Piece } from '../providers/reply-assembly.ts';

/** What names a completion. `createdS` in seconds since 1970. `model` as the client named it. */
export type CompletionHead = { id: string; createdS: number; model: string };

export type Completion = { head: CompletionHead; choices: readonly AssembledChoice[]; usage: Usage };

/** The body of a unary answer. */
export function completionBody({ head, choices, usage }: Completion): object {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.createdS,
    model: head.model,
    choices: choices.map(({ text, refusal, calls, finishReason }, index) => ({
      index,
      message: {
        role: 'assistant',
        content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
        refusal: refusal === '' ? null : refusal,
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map(({ id, tool, args }) => ({
                id,
                type: 'function',
                function: { name: tool, arguments: args },
              })),
            }),
      },
      logprobs: null,
      finish_reason: finishReason ?? 'stop',
    })),
    usage: usageBody(usage),
  };
}

/** One piece of a reply as a chunk. `isFirst`: whether it is the first of its choice. */
export function pieceBody(
  head: CompletionHead,
  piece: Piece,
  options: { isFirst: boolean; hasUsage: boolean },
): object {
  const role = options.isFirst ? { role: 'assistant' as const } : {};
  return chunkBody(
    head,
    [
      {
        index: piece.choice,
        delta: { ...role, ...deltaOf(piece) },
        logprobs: null,
        finish_reason: piece.kind === 'finish' ? piece.finishReason : null,
      },
    ],
    options.hasUsage ? { usage: null } : {},
  );
}

/** The last chunk, for clients that asked for usage. */
export function usageChunkBody(head: CompletionHead, usage: Usage): object {
  return chunkBody(head, [], { usage: usageBody(usage) });
}

/** The pieces that a stored reply would have come in. */
export function piecesOf(choices: readonly AssembledChoice[]): Piece[] {
  return choices.flatMap(({ text, refusal, calls, finishReason }, choice): Piece[] => [
    ...(text === '' ? [] : [{ kind: 'text' as const, choice, text }]),
    ...(refusal === '' ? [] : [{ kind: 'refusal' as const, choice, text: refusal }]),
    ...calls.map(({ id, tool, args }, position): Piece => ({ kind: 'call', choice, position, id, tool, args })),
    { kind: 'finish', choice, finishReason: finishReason ?? 'stop' },
  ]);
}

/** OpenAI's usage object. */
export function usageBody(usage: Usage): object {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

function chunkBody(head: CompletionHead, choices: object[], rest: object): object {
  return { id: head.id, object: 'chat.completion.chunk', created: head.createdS, model: head.model, choices, ...rest };
}

function deltaOf(piece: Piece): object {
  switch (piece.kind) {
    case 'text':
      return { content: piece.text };
    case 'refusal':
      return { refusal: piece.text };
    case 'call': {
      const { id, tool, position, args } = piece;
      const call = { ...(tool === undefined ? {} : { name: tool }), arguments: args };
      const start = id === undefined ? {} : { id, type: 'function' };
      return { tool_calls: [{ index: position, ...start, function: call }] };
    }
    case 'finish':
      return {};
  }
}
