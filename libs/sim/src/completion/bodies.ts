/**
 * OpenAI's two forms of one completion: a single object, or chunks whose concatenation says the same.
 *
 * Pure; id and time come in. Both forms carry the same content, calls, finish reason and usage.
 */
import { type Completion, usageBody } from './completion.ts';

/** A word with the blanks before it ends here. */
const END_OF_WORD = /(?<=\S)(?=\s)/;
const ARGUMENTS_PIECE_LENGTH = 16;

/** What names a response. `createdS` is in seconds since 1970, as OpenAI has it. */
export interface ResponseHead {
  id: string;
  createdS: number;
  model: string;
}

/** The body of a unary response. */
export function unaryBody(head: ResponseHead, completion: Completion) {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.createdS,
    model: head.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: completion.content,
          refusal: null,
          ...(completion.calls.length > 0 ? { tool_calls: completion.calls.map(callBody) } : {}),
        },
        logprobs: null,
        finish_reason: completion.finishReason,
      },
    ],
    usage: usageBody(completion.usage),
  };
}

/** The chunks of a stream in order, without `[DONE]`: role, content, calls in fragments, finish reason, usage if asked for. */
export function chunkBodies(head: ResponseHead, completion: Completion, includeUsage: boolean) {
  const usageField = includeUsage ? { usage: null } : {};
  const chunk = (choices: unknown[]) => ({
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.createdS,
    model: head.model,
    choices,
    ...usageField,
  });
  const delta = (part: unknown) => chunk([{ index: 0, delta: part, logprobs: null, finish_reason: null }]);
  const chunks: unknown[] = [
    delta({ role: 'assistant', content: completion.content === null ? null : '' }),
    ...(completion.content ? completion.content.split(END_OF_WORD) : []).map((content) => delta({ content })),
    ...completion.calls.flatMap((call, index) => callDeltas(call, index)).map((part) => delta({ tool_calls: [part] })),
    chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: completion.finishReason }]),
  ];
  if (includeUsage) chunks.push({ ...chunk([]), usage: usageBody(completion.usage) });
  return chunks;
}

function callBody(call: Completion['calls'][number]) {
  return { id: call.id, type: 'function', function: { name: call.tool, arguments: call.argumentsText } };
}

function callDeltas(call: Completion['calls'][number], index: number) {
  const pieces = [];
  for (let start = 0; start < call.argumentsText.length; start += ARGUMENTS_PIECE_LENGTH) {
    const text = call.argumentsText.slice(start, start + ARGUMENTS_PIECE_LENGTH);
    pieces.push({ index, function: { arguments: text } });
  }
  return [{ index, id: call.id, type: 'function', function: { name: call.tool, arguments: '' } }, ...pieces];
}
