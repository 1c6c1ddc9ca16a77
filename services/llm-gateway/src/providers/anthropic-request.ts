/** A chat completion's request in the words of Anthropic's Messages API. Pure. */
import type Anthropic from '@anthropic-ai/sdk';
import { z } from 'zod';
import type { ModelCall } from './call-model.ts';
import { UnsupportedError } from './failure.ts';

type MessageParam = Anthropic.MessageParam;
type Block = Anthropic.ContentBlockParam;

const partSchema = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }),
]);
const contentSchema = z.union([z.string(), z.array(partSchema)]).nullish();
const messageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema,
  tool_call_id: z.string().optional(),
  tool_calls: z
    .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
    .optional(),
});
type ChatMessage = z.infer<typeof messageSchema>;

const toolSchema = z.object({
  function: z.object({
    name: z.string(),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});
const optionsSchema = z.object({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  top_k: z.number().optional(),
  stop: z.union([z.string().transform((text) => [text]), z.array(z.string())]).optional(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), z.object({ function: z.object({ name: z.string() }) })])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: z
    .object({
      type: z.string(),
      json_schema: z.object({ schema: z.record(z.string(), z.unknown()).optional() }).optional(),
    })
    .optional(),
});

/**
 * The body of the request. `isCached`: whether the provider may keep the prompt for the next call. Throws `UnsupportedError` for
 * what has no counterpart there; what only nudges the sampling (seed, penalties) is left out.
 */
export function messagesRequestOf(call: ModelCall, isCached: boolean): Anthropic.MessageCreateParamsStreaming {
  if (call.choices > 1) throw new UnsupportedError('Anthropic gives one choice at a time');
  const options = optionsSchema.parse(call.options);
  const messages = call.messages.map((message) => messageSchema.parse(message));
  const system = messages.filter(isInstruction).map(({ content }) => textOf(content));
  const tools = call.tools.map((tool) => toolOf(tool));
  const schema = call.answerSchema ?? options.response_format?.json_schema?.schema;
  return {
    model: call.candidate.model,
    max_tokens: call.maxOutputTokens,
    messages: conversationOf(messages.filter((message) => !isInstruction(message))),
    ...(system.length === 0 ? {} : { system: system.join('\n\n') }),
    ...(tools.length === 0 ? {} : { tools, ...choiceOf(options) }),
    ...(options.temperature === undefined ? {} : { temperature: Math.min(1, options.temperature) }),
    ...(options.top_p === undefined ? {} : { top_p: options.top_p }),
    ...(options.top_k === undefined ? {} : { top_k: options.top_k }),
    ...(options.stop === undefined ? {} : { stop_sequences: options.stop }),
    ...(schema === undefined
      ? {}
      : { output_config: { format: { type: 'json_schema' as const, schema: schema as Record<string, unknown> } } }),
    ...(isCached ? { cache_control: { type: 'ephemeral' as const } } : {}),
    stream: true,
  };
}

function isInstruction({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** Turns alternate there: what the same side says in a row, results of calls included, is one message. */
function conversationOf(messages: readonly ChatMessage[]): MessageParam[] {
  const turns: { role: 'user' | 'assistant'; content: Block[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    const content = blocksOf(message);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  return turns.filter(({ content }) => content.length > 0);
}

function blocksOf(message: ChatMessage): Block[] {
  if (message.role === 'tool') {
    const content = textOf(message.content);
    return [{ type: 'tool_result', tool_use_id: idOf(message.tool_call_id ?? ''), content }];
  }
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
    type: 'tool_use' as const,
    id: idOf(id),
    name,
    input: inputOf(args),
  }));
  return [...contentBlocksOf(message.content), ...calls];
}

/** Ids of calls that another provider gave may hold what is refused there. */
function idOf(callId: string): string {
  return callId.replaceAll(/[^\w-]/g, '_') || '_';
}

/** Empty texts are refused there. */
function contentBlocksOf(content: ChatMessage['content']): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return (content ?? []).flatMap((part): Block[] => {
    if (part.type === 'text') return part.text === '' ? [] : [part];
    return [{ type: 'image', source: imageSourceOf(part.image_url.url) }];
  });
}

const mediaTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

function imageSourceOf(url: string): Anthropic.ImageBlockParam['source'] {
  const comma = url.indexOf(',');
  const [, type] = /^data:([a-z/]+);base64$/.exec(url.slice(0, Math.max(0, comma))) ?? [];
  const mediaType = mediaTypes.find((known) => known === type);
  if (mediaType) return { type: 'base64', media_type: mediaType, data: url.slice(comma + 1) };
  if (/^https?:/.test(url)) return { type: 'url', url };
  throw new UnsupportedError('an image has to be a JPEG, PNG, GIF or WebP as a base64 data URL, or an http URL');
}

/** Arguments of earlier calls are objects there. What was no JSON object stays readable. */
function inputOf(args: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(args === '' ? '{}' : args);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>;
  } catch {
    // Below.
  }
  return { invalid_arguments: args };
}

function toolOf(tool: object): Anthropic.Tool {
  const { name, description, parameters } = toolSchema.parse(tool).function;
  const input_schema = { ...parameters, type: 'object' as const };
  return { name, ...(description === undefined ? {} : { description }), input_schema };
}

function choiceOf({ tool_choice: choice, parallel_tool_calls: isParallel }: z.infer<typeof optionsSchema>): {
  tool_choice?: Anthropic.ToolChoice;
} {
  if (choice === 'none') return { tool_choice: { type: 'none' } };
  const single = isParallel === false ? { disable_parallel_tool_use: true } : {};
  if (typeof choice === 'object') return { tool_choice: { type: 'tool', name: choice.function.name, ...single } };
  if (choice === 'required') return { tool_choice: { type: 'any', ...single } };
  return isParallel === false ? { tool_choice: { type: 'auto', ...single } } : {};
}

function textOf(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
