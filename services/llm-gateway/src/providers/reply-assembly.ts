/**
 * Puts a streamed reply together from its chunks, and tells each part of it in one clean form. Pure: no clock, no I/O.
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
  delta?: {
    content?: string | null;
    refusal?: string | null;
    /** Reasoning that is shown, in the words of several providers. */
    reasoning_content?: string | null;
    reasoning?: unknown;
    tool_calls?: readonly CallFragment[] | null;
  } | null;
  finish_reason?: string | null;
};

export type CallFragment = {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | null } | null;
};

/** A part of a reply as it is told on; `choice` and `position` count from 0. */
export type Piece =
  | { kind: 'text' | 'refusal'; choice: number; text: string }
  /** `id` and `tool` come with the first piece of a call. */
  | { kind: 'call'; choice: number; position: number; id?: string; tool?: string; args: string }
  | { kind: 'finish'; choice: number; finishReason: string };

export type AssembledChoice = {
  text: string;
  refusal: string;
  calls: ToolCall[];
  /** Absent while the provider has not said that it is finished. */
  finishReason?: string | undefined;
};

export type AssembledReply = {
  /** All choices, at least one. */
  choices: [AssembledChoice, ...AssembledChoice[]];
  /** What counts as output beside texts and calls. */
  reasoningText: string;
  responseId?: string;
  responseModel?: string;
  /** Absent when the provider told none that makes sense. */
  usage?: Usage;
};

export type ReplyAssembly = {
  /** Takes a chunk and gives its parts. `isAlive`: whether it carried any output of the model, reasoning included. */
  add(chunk: ReplyChunk): { pieces: Piece[]; isAlive: boolean };
  result(): AssembledReply;
};

type OpenCall = { index: number | undefined; id: string; tool: string; args: string; name: string };
type OpenChoice = { text: string; refusal: string; calls: OpenCall[]; finishReason?: string };

/** `callIdPrefix` names calls that came without an id, or with one that another call has. */
export function createReplyAssembly(callIdPrefix: string, choicesMax = 1): ReplyAssembly {
  const choices = Array.from({ length: choicesMax }, (): OpenChoice => ({ text: '', refusal: '', calls: [] }));
  const reply: Omit<AssembledReply, 'choices'> = { reasoningText: '' };
  const names = new Set<string>();
  return {
    add(chunk) {
      if (chunk.id) reply.responseId = chunk.id;
      if (chunk.model) reply.responseModel = chunk.model;
      const usage = parseUsage(chunk.usage);
      if (usage) reply.usage = usage;
      const pieces: Piece[] = [];
      const reasoningBefore = reply.reasoningText.length;
      for (const part of chunk.choices ?? []) {
        const choice = part.index ?? 0;
        const open = choices[choice];
        if (!open) continue;
        reply.reasoningText += reasoningOf(part);
        pieces.push(...addPart(open, part, { choice, callIdPrefix, names }));
      }
      const isAlive = pieces.some(({ kind }) => kind !== 'finish') || reply.reasoningText.length > reasoningBefore;
      return { pieces, isAlive };
    },
    result() {
      const [first, ...others] = choices.map(closeChoice);
      if (!first) throw new TypeError('a reply without choices');
      return { ...reply, choices: [first, ...others] };
    },
  };
}

type Place = { choice: number; callIdPrefix: string; names: Set<string> };

function addPart(open: OpenChoice, { delta, finish_reason }: ReplyChoice, place: Place): Piece[] {
  const { choice } = place;
  const pieces: Piece[] = [];
  for (const kind of ['text', 'refusal'] as const) {
    const text = (kind === 'text' ? delta?.content : delta?.refusal) || '';
    if (text === '') continue;
    open[kind] += text;
    pieces.push({ kind, choice, text });
  }
  for (const fragment of delta?.tool_calls ?? []) pieces.push(addFragment(open.calls, fragment, place));
  if (finish_reason && open.finishReason === undefined) {
    pieces.push({ kind: 'finish', choice, finishReason: finish_reason });
  }
  if (finish_reason) open.finishReason = finish_reason;
  return pieces;
}

function addFragment(calls: OpenCall[], fragment: CallFragment, place: Place): Piece {
  const found = findCall(calls, fragment);
  const call = found ?? openCall(calls, fragment, place);
  if (fragment.id) call.id = fragment.id;
  // Some providers repeat the name in every fragment, others send it in pieces.
  const tool = fragment.function?.name ?? '';
  const isNewName = tool !== '' && call.tool !== tool;
  if (isNewName) call.tool += tool;
  const args = fragment.function?.arguments ?? '';
  call.args += args;
  return {
    kind: 'call',
    choice: place.choice,
    position: calls.indexOf(call),
    ...(found ? {} : { id: call.name }),
    ...(isNewName ? { tool } : {}),
    args,
  };
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

/** A call is named once, when it begins: the name may have been told on. */
function openCall(calls: OpenCall[], fragment: CallFragment, { choice, callIdPrefix, names }: Place): OpenCall {
  const id = fragment.id || '';
  const isFree = id !== '' && !names.has(id);
  const ofChoice = choice === 0 ? callIdPrefix : `${callIdPrefix}_${choice}`;
  const name = isFree ? id : `${ofChoice}_${calls.length}`;
  names.add(name);
  const call = { index: fragment.index ?? undefined, id: '', tool: '', args: '', name };
  calls.push(call);
  return call;
}

function closeChoice({ text, refusal, calls, finishReason }: OpenChoice): AssembledChoice {
  return {
    text,
    refusal,
    calls: calls.map(({ name, tool, args }) => ({ id: name, tool, args })),
    ...(finishReason === undefined ? {} : { finishReason }),
  };
}

function reasoningOf({ delta }: ReplyChoice): string {
  if (delta?.reasoning_content) return delta.reasoning_content;
  return typeof delta?.reasoning === 'string' ? delta.reasoning : '';
}
