/**
 * Refuses what strict providers refuse: calls without a result and results without a call. A loop that leaves a call
 * unanswered fails here as it would fail in production.
 */
import type { ChatMessage } from './chat-request.ts';

/** The first breach of message order as a sentence with the message's place, or undefined when the order is legal. */
export function findOrderBreach(messages: readonly ChatMessage[]): string | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) {
        return `messages[${index}]: a tool message must answer a tool call of the assistant message before it`;
      }
      continue;
    }
    if (open.size > 0) return unanswered(index, open);
    open = new Set((message.tool_calls ?? []).map((call) => call.id));
    if (open.size !== (message.tool_calls?.length ?? 0)) return `messages[${index}]: tool call ids repeat`;
  }
  return open.size > 0 ? unanswered(messages.length, open) : undefined;
}

function unanswered(index: number, open: ReadonlySet<string>): string {
  return `messages[${index}]: tool messages must follow for tool_call_ids ${[...open].join(', ')}`;
}
