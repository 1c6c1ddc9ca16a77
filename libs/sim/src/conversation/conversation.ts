/**
 * What a rule can know: the conversation of one request, folded into a plain JSON value.
 *
 * Pure. Must not know of rules, models or HTTP.
 * 1. Everything comes from the request alone; the stand-in remembers nothing between requests.
 * 2. An observation belongs to the latest call with its id, since ids may repeat over a long conversation.
 */
import { type ChatMessage, type ChatTool, textOf } from './chat-request.ts';
import { type AnsweredCall, type SimObservation, parseObservation } from './observation.ts';

/** The context that rules are evaluated against. */
export interface Conversation {
  /** Text of the first user message. */
  question: string;
  /** Text of the last message that is not a tool result and not the model's own: guidance, a new question, an instruction. */
  latest: string;
  /** All system and developer messages, joined by line breaks. */
  system: string;
  /** Number of replies the model has given so far. */
  turn: number;
  /** Names of the tools offered in this request; empty in a closing call. */
  tools: string[];
  /** All tool results, oldest first. */
  observations: SimObservation[];
  /** Tool results of the latest turn that asked for calls. */
  last: SimObservation[];
  /** Every message as plain text. */
  messages: { role: string; text: string }[];
}

/** Folds messages and tools of a request into the context of the rules. */
export function conversation(messages: readonly ChatMessage[], tools: readonly ChatTool[]): Conversation {
  const calls = new Map<string, AnsweredCall>();
  const observations: SimObservation[] = [];
  let last: SimObservation[] = [];
  for (const message of messages) {
    if (message.tool_calls?.length) last = [];
    for (const call of message.tool_calls ?? []) {
      calls.set(call.id, { callId: call.id, tool: call.function.name, argumentsText: call.function.arguments });
    }
    if (message.role !== 'tool') continue;
    const observation = parseObservation(answeredCall(calls, message.tool_call_id ?? ''), textOf(message));
    observations.push(observation);
    last.push(observation);
  }
  return {
    question: textsOf(messages, ['user'])[0] ?? '',
    latest: textsOf(messages, ['user', 'system', 'developer']).at(-1) ?? '',
    system: textsOf(messages, ['system', 'developer']).join('\n'),
    turn: messages.filter((message) => message.role === 'assistant').length,
    tools: tools.flatMap((tool) => (tool.function === undefined ? [] : [tool.function.name])),
    observations,
    last,
    messages: messages.map((message) => ({ role: message.role, text: textOf(message) })),
  };
}

function answeredCall(calls: ReadonlyMap<string, AnsweredCall>, callId: string): AnsweredCall {
  return calls.get(callId) ?? { callId, tool: '', argumentsText: 'null' };
}

function textsOf(messages: readonly ChatMessage[], roles: readonly string[]): string[] {
  return messages.filter((message) => roles.includes(message.role)).map(textOf);
}
