/**
 * What a thought asks for. With native tool calling that is what the provider says. Models without it speak a strict
 * text protocol (L1): `Thought: …` and then either `Action: {"tool": "name", "args": {…}}` or `Final Answer: …`.
 * The action is parsed as JSON and judged like any other call; what doesn't fit the protocol becomes a call of no tool,
 * so that its observation tells the model what to correct.
 */
import { parseExact } from '@pawl/calls';
import type { AgentSpec, Thought, ToolCall } from '@pawl/contracts';

export type Reply = { text: string; calls: ToolCall[] };

/** The tool that a reply outside the protocol is taken to call; no tool can have this name. */
export const protocolBreach = 'reply outside the protocol';

export function replyOf(thought: Thought, spec: AgentSpec): Reply {
  const { text, calls } = thought;
  if (spec.toolCalling !== 'text' || thought.outcome !== 'reply') return { text, calls };
  if (thought.purpose === 'think') return parseReply(text);
  // Without tools there is nothing but an answer, which may come in the form that the protocol asks for.
  return { text: thought.purpose === 'conclude' ? (answerIn(text)?.text ?? text) : text, calls };
}

/** Reads a reply in the text protocol. */
export function parseReply(text: string): Reply {
  const answer = answerIn(text);
  const action = /^[^\S\r\n\u2028\u2029]*Action:([\s\S]*)$/m.exec(text);
  if (action && (!answer || action.index < answer.index)) {
    return { text: thoughtBefore(text, action.index), calls: [parseAction(action[1] ?? '')] };
  }
  if (answer) return { text: answer.text, calls: [] };
  return { text, calls: [{ id: '', tool: protocolBreach, args: '{}' }] };
}

function answerIn(text: string): { index: number; text: string } | undefined {
  const found = /^[^\S\r\n\u2028\u2029]*Final Answer:([\s\S]*)$/m.exec(text);
  return found ? { index: found.index, text: found[1]?.trim() ?? '' } : undefined;
}

function thoughtBefore(text: string, end: number): string {
  return text
    .slice(0, end)
    .replace(/^\s*Thought:\s*/, '')
    .trim();
}

function parseAction(text: string): ToolCall {
  const json = text.trim().replaceAll(/^```(?:json)?|```$/g, '');
  try {
    const action: unknown = parseExact(json);
    if (isAction(action)) return { id: '', tool: action.tool, args: JSON.stringify(action.args ?? {}) };
  } catch {
    // What isn't JSON is no action: it is answered as a breach of the protocol below.
  }
  return { id: '', tool: protocolBreach, args: '{}' };
}

function isAction(value: unknown): value is { tool: string; args?: unknown } {
  return typeof value === 'object' && value !== null && 'tool' in value && typeof value.tool === 'string';
}
