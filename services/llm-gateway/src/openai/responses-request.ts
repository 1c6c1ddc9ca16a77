/** A request of OpenAI's Responses API, told in the words of a chat completion. */
import { z } from 'zod';
import { toolNameSchema } from '@pawl/contracts';
import { agentNameOf } from './agent-model.ts';
import type { ChatRequest } from './chat-request.ts';

const textPart = z.object({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() });
const imagePart = z.object({
  type: z.literal('input_image'),
  image_url: z.string().max(30_000_000),
  detail: z.enum(['auto', 'low', 'high']).optional(),
});
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });
const parts = z.array(z.discriminatedUnion('type', [textPart, imagePart, refusalPart]));

const message = z.object({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), parts]),
});
const item = z.discriminatedUnion(
  'type',
  [
    message,
    z.object({ type: z.literal('function_call'), call_id: z.string(), name: z.string(), arguments: z.string() }),
    z.object({ type: z.literal('function_call_output'), call_id: z.string(), output: z.union([z.string(), parts]) }),
    z.object({ type: z.literal('reasoning') }),
    /** To an item of an earlier response. */
    z.object({ type: z.literal('item_reference'), id: z.string().max(200) }),
  ],
  'must be message, function_call, function_call_output, reasoning or item_reference',
);

const tool = z.object({
  type: z.literal('function', 'only function tools are supported'),
  name: toolNameSchema,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

const format = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string().max(64),
    description: z.string().optional(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
]);

export const responsesRequestSchema = z.strictObject({
  model: z.string().min(1).max(200),
  input: z.union([z.string().min(1), z.array(item).min(1).max(100_000)]),
  instructions: z.string().nullish(),
  tools: z.array(tool).max(1_000).nullish(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), z.object({ type: z.literal('function'), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: z.number().int().positive().max(10_000_000).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  text: z.object({ format: format.nullish(), verbosity: z.string().max(20).nullish() }).nullish(),
  reasoning: z.object({ effort: z.string().max(20).nullish(), summary: z.string().nullish() }).nullish(),
  previous_response_id: z.null('responses are not kept: send the whole conversation as input').optional(),
  conversation: z.null('conversations are not kept: send the whole conversation as input').optional(),
  background: z.literal(false, 'background responses are not supported').nullish(),
  store: z.boolean().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  include: z.array(z.string()).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  service_tier: z.enum(['auto', 'default'], 'only auto and default: other tiers have other prices').nullish(),
  user: z.string().max(500).nullish(),
  safety_identifier: z.string().max(500).nullish(),
  prompt_cache_key: z.string().max(200).nullish(),
  prompt_cache_retention: z.string().max(20).nullish(),
  top_logprobs: z.literal(0, 'log probabilities are not supported').nullish(),
  max_tool_calls: z.null('for tools of the provider, which are not supported').optional(),
  prompt: z.null('prompts are not kept: send instructions and input').optional(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
});
export type ResponsesRequest = z.infer<typeof responsesRequestSchema>;

/** Whether items of the response may be referred to later, as is the default at OpenAI. What an agent says is kept with its run. */
export function isKept({ store, model }: ResponsesRequest): boolean {
  return store !== false && agentNameOf(model) === undefined;
}

/** The chat completion that a request asks for. Its input holds no references any more. */
export function chatRequestOf(request: ResponsesRequest): ChatRequest {
  const { text, reasoning, tools, tool_choice: choice } = request;
  return {
    model: request.model,
    messages: messagesOf(request),
    tools: tools?.map(({ name, description, parameters, strict }) => ({
      type: 'function' as const,
      function: {
        name,
        ...(description == null ? {} : { description }),
        ...(parameters == null ? {} : { parameters }),
        ...(strict == null ? {} : { strict }),
      },
    })),
    tool_choice:
      typeof choice === 'object' && choice !== null ? { type: 'function', function: { name: choice.name } } : choice,
    parallel_tool_calls: request.parallel_tool_calls,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    response_format: formatOf(text?.format),
    verbosity: text?.verbosity,
    reasoning_effort: reasoning?.effort,
    prompt_cache_key: request.prompt_cache_key,
  };
}

function formatOf(wanted: z.infer<typeof format> | null | undefined): ChatRequest['response_format'] {
  if (wanted == null || wanted.type === 'text') return undefined;
  if (wanted.type === 'json_object') return wanted;
  const { type, ...schema } = wanted;
  return { type, json_schema: schema };
}

type ChatMessage = ChatRequest['messages'][number];

function messagesOf({ instructions, input }: ResponsesRequest): ChatMessage[] {
  const messages: ChatMessage[] = instructions == null ? [] : [{ role: 'system', content: instructions }];
  if (typeof input === 'string') return [...messages, { role: 'user', content: input }];
  for (const one of input) addItem(messages, one);
  return messages;
}

/** Calls that follow each other were asked for in one reply. */
function addItem(messages: ChatMessage[], one: z.infer<typeof item>): void {
  if ('role' in one) return void messages.push(messageOf(one));
  switch (one.type) {
    case 'reasoning':
    case 'item_reference':
      return;
    case 'function_call_output':
      messages.push({ role: 'tool', tool_call_id: one.call_id, content: textOf(one.output) });
      return;
    case 'function_call': {
      const call = {
        id: one.call_id,
        type: 'function' as const,
        function: { name: one.name, arguments: one.arguments },
      };
      const last = messages.at(-1);
      if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call];
      else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    }
  }
}

function messageOf({ role, content }: z.infer<typeof message>): ChatMessage {
  if (role !== 'user' || typeof content === 'string') return { role, content: textOf(content) };
  return {
    role,
    content: content.map((part) =>
      part.type === 'input_image'
        ? {
            type: 'image_url' as const,
            image_url: { url: part.image_url, ...(part.detail ? { detail: part.detail } : {}) },
          }
        : { type: 'text' as const, text: part.type === 'refusal' ? part.refusal : part.text },
    ),
  };
}

function textOf(content: string | z.infer<typeof parts>): string {
  if (typeof content === 'string') return content;
  return content
    .flatMap((part) => (part.type === 'input_image' ? [] : [part.type === 'refusal' ? part.refusal : part.text]))
    .join('\n');
}
