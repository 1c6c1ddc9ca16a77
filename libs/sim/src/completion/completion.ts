/**
 * Puts a reply into the form of one completion: content, calls with ids, finish reason and usage.
 *
 * Pure; ids come in.
 * 1. A token is four characters, rounded up: of the request's messages and tools as JSON for the prompt, of content plus
 *    names and arguments of calls for the completion. The same conversation always costs the same.
 * 2. The token limit of a request is kept: text is cut, later calls are left out, the finish reason is `length`.
 */
import { type ChatRequest, offeredTools } from '../conversation/chat-request.ts';
import type { SimCall, SimReply } from './reply.ts';

const CHARACTERS_PER_TOKEN = 4;

/** Token counts of one completion, by the rule in the file head. */
export interface SimUsage {
  promptTokens: number;
  completionTokens: number;
}

/** A call as it is sent; `argumentsText` may be cut by the token limit. */
export interface CompletionCall {
  id: string;
  tool: string;
  argumentsText: string;
}

export interface Completion {
  content: string | null;
  calls: CompletionCall[];
  finishReason: 'stop' | 'tool_calls' | 'length';
  usage: SimUsage;
}

/** Builds the completion of a reply. `callIdPrefix` must be unique to this response. */
export function createCompletion(request: ChatRequest, reply: SimReply, callIdPrefix: string): Completion {
  const charactersMax = CHARACTERS_PER_TOKEN * (tokensMax(request) ?? Number.MAX_SAFE_INTEGER / CHARACTERS_PER_TOKEN);
  const replyCalls = reply.calls ?? [];
  const fullContent = (replyCalls.length > 0 ? reply.say : (reply.answer ?? reply.say)) ?? '';
  const content = fullContent.slice(0, charactersMax);
  const { calls, isCut } = fitCalls(replyCalls, charactersMax - content.length, callIdPrefix);
  const characters =
    content.length + calls.reduce((sum, call) => sum + call.tool.length + call.argumentsText.length, 0);
  const isLimited = isCut || content.length < fullContent.length;
  return {
    content: content === '' && calls.length > 0 ? null : content,
    calls,
    finishReason: isLimited ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    usage: {
      promptTokens: tokens(JSON.stringify([request.messages, offeredTools(request)]).length),
      completionTokens: tokens(characters),
    },
  };
}

/** The usage object of OpenAI's protocol. */
export function usageBody(usage: SimUsage) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function fitCalls(replyCalls: readonly SimCall[], charactersMax: number, callIdPrefix: string) {
  const calls: CompletionCall[] = [];
  let left = charactersMax;
  for (const [index, call] of replyCalls.entries()) {
    const argumentsText = typeof call.args === 'string' ? call.args : JSON.stringify(call.args ?? {});
    left -= call.tool.length;
    if (left <= 0) return { calls, isCut: true };
    calls.push({ id: `${callIdPrefix}_${index}`, tool: call.tool, argumentsText: argumentsText.slice(0, left) });
    if (argumentsText.length > left) return { calls, isCut: true };
    left -= argumentsText.length;
  }
  return { calls, isCut: false };
}

function tokensMax(request: ChatRequest): number | undefined {
  return request.max_completion_tokens ?? request.max_tokens ?? undefined;
}

function tokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
