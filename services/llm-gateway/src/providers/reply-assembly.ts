/**
 * Puts a streamed reply together from its chunks. Pure: no clock, no I/O.
 *
 * Tool calls come in fragments that providers label differently, so a fragment belongs
 * 1. with an index: to the call of that index, unless its id names another (some send index 0 for every call);
 * 2. without an index: to the call of its id, or to the last call when it has neither and names no tool.
 * Anything else begins a new call.
 */
import type { ToolCall, Usage } from '@pawl/contracts';
import { parseUsage } from './usage-mapping.ts';

/** The parts of a chat completion chunk that are read; providers leave out what they like. */
export type ReplyChunk = {
  id?: string | null;
  model?: string | null;
  choices?: readonly ReplyChoice[] | null;
  usage?: unknown;
};

type ReplyChoice = {
  index?: number | null;
  delta?: { content?: string | null; refusal?: string | null; tool_calls?: readonly CallFragment[] | null } | null;
  finish_reason?: string | null;
};

export type CallFragment = {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null } | null;
};

export type AssembledReply = {
  text: string;
  calls: ToolCall[];
  /** Absent while the provider has not said that it is finished. */
  finishReason?: string;
  responseId?: string;
  responseModel?: string;
  /** Absent when the provider told none that makes sense. */
  usage?: Usage;
};

export type ReplyAssembly = {
  /** Takes a chunk and gives the text that it added. `hasContent`: whether it carried any part of the reply. */
  add(chunk: ReplyChunk): { text: string; hasContent: boolean };
  result(): AssembledReply;
};

type OpenCall = { index: number | undefined; id: string; tool: string; args: string };

/** `callIdPrefix` names calls that came without an id, or with one that another call has. */
export function createReplyAssembly(callIdPrefix: string): ReplyAssembly {
  const calls: OpenCall[] = [];
  const reply: Omit<AssembledReply, 'calls'> = { text: '' };
  return {
    add(chunk) {
      if (chunk.id) reply.responseId = chunk.id;
      if (chunk.model) reply.responseModel = chunk.model;
      const usage = parseUsage(chunk.usage);
      if (usage) reply.usage = usage;
      const choice = chunk.choices?.find((candidate) => (candidate.index ?? 0) === 0);
      if (choice?.finish_reason) reply.finishReason = choice.finish_reason;
      const text = choice?.delta?.content || choice?.delta?.refusal || '';
      const fragments = choice?.delta?.tool_calls ?? [];
      reply.text += text;
      for (const fragment of fragments) addFragment(calls, fragment);
      return { text, hasContent: text !== '' || fragments.length > 0 };
    },
    result: () => ({ ...reply, calls: nameCalls(calls, callIdPrefix) }),
  };
}

function addFragment(calls: OpenCall[], fragment: CallFragment): void {
  const tool = fragment.function?.name ?? '';
  const call = findCall(calls, fragment) ?? openCall(calls, fragment);
  if (fragment.id) call.id = fragment.id;
  // Some providers repeat the name in every fragment, others send it in pieces.
  if (call.tool !== tool) call.tool += tool;
  call.args += fragment.function?.arguments ?? '';
}

function findCall(calls: OpenCall[], fragment: CallFragment): OpenCall | undefined {
  const index = fragment.index ?? undefined;
  const id = fragment.id || undefined;
  const sameIndex = calls.filter((call) => call.index === index);
  if (index !== undefined) {
    if (id === undefined) return sameIndex.at(-1);
    return sameIndex.find((call) => call.id === id) ?? sameIndex.find((call) => call.id === '');
  }
  if (id !== undefined) return sameIndex.find((call) => call.id === id);
  return fragment.function?.name ? undefined : calls.at(-1);
}

function openCall(calls: OpenCall[], fragment: CallFragment): OpenCall {
  const call = { index: fragment.index ?? undefined, id: '', tool: '', args: '' };
  calls.push(call);
  return call;
}

function nameCalls(calls: readonly OpenCall[], prefix: string): ToolCall[] {
  const taken = new Set<string>();
  return calls.map(({ id, tool, args }, position) => {
    const name = id !== '' && !taken.has(id) ? id : `${prefix}_${position}`;
    taken.add(name);
    return { id: name, tool, args };
  });
}
