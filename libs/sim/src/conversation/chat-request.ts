/**
 * The part of OpenAI's chat-completions request that the stand-in reads. Fields it has no use for pass unread, as a
 * client may send newer ones.
 */
import { z } from 'zod';

const contentPartSchema = z.looseObject({ type: z.string(), text: z.string().optional() });

const toolCallSchema = z.looseObject({
  id: z.string(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(contentPartSchema), z.null()]).optional(),
  tool_calls: z.array(toolCallSchema).nullish(),
  tool_call_id: z.string().optional(),
});

const toolSchema = z.looseObject({ type: z.string(), function: z.looseObject({ name: z.string() }).optional() });

/** A chat-completions request as far as the stand-in understands it. `n` above 1 is refused. */
export const chatRequestSchema = z.looseObject({
  model: z.string().min(1),
  messages: z.array(messageSchema).min(1),
  tools: z.array(toolSchema).nullish(),
  tool_choice: z.unknown().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  n: z.literal(1, { error: 'only n = 1 is supported' }).nullish(),
});

export type ChatRequest = z.infer<typeof chatRequestSchema>;
export type ChatMessage = ChatRequest['messages'][number];
export type ChatTool = z.infer<typeof toolSchema>;

/** The text of a message; parts are joined by line breaks, parts without text left out. */
export function textOf(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap((part) => (part.text === undefined ? [] : [part.text])).join('\n');
}

/** Names of the tools the model may call in this request; none when `tool_choice` forbids calls. */
export function offeredTools(request: ChatRequest): ChatTool[] {
  return request.tool_choice === 'none' ? [] : (request.tools ?? []);
}
