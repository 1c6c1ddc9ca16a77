/**
 * A chat-completions request as clients of OpenAI's protocol send it. What it can't honour it refuses by name; nothing that
 * could change the price passes unread.
 */
import { z } from 'zod';
import { toolNameSchema } from '@pawl/contracts';

const text = z.object({ type: z.literal('text'), text: z.string() });
const image = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string().max(30_000_000), detail: z.enum(['auto', 'low', 'high']).optional() }),
});
/** What a model said instead of an answer. It goes on as text, since not all endpoints know it. */
const refusal = z
  .object({ type: z.literal('refusal'), refusal: z.string() })
  .transform(({ refusal: said }) => ({ type: 'text' as const, text: said }));
const texts = z.union([z.string(), z.array(text).min(1)]);
const name = z.string().max(200).optional();

const toolCall = z.object({
  id: z.string().max(500),
  type: z.literal('function'),
  function: z.object({ name: z.string().max(200), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: texts, name }),
  z.object({ role: z.literal('developer'), content: texts, name }),
  z.object({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image])).min(1)]),
    name,
  }),
  z
    .object({
      role: z.literal('assistant'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, refusal]))]).nullish(),
      refusal: z.string().nullish(),
      tool_calls: z.array(toolCall).max(1_000).optional(),
      name,
    })
    .transform(({ refusal: said, ...rest }) => (said ? { ...rest, content: rest.content || said } : rest)),
  z.object({ role: z.literal('tool'), content: texts, tool_call_id: z.string().max(500) }),
]);

const tool = z.object({
  type: z.literal('function', 'only function tools are supported'),
  function: z.object({
    name: toolNameSchema,
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().nullish(),
  }),
});

const responseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z.string().max(64),
      description: z.string().optional(),
      schema: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const number = z.number();
const tokens = z.number().int().positive().max(10_000_000);

/** Passed on to the endpoint as they are. */
const passedOn = {
  temperature: number.min(0).max(2).nullish(),
  top_p: number.min(0).max(1).nullish(),
  top_k: number.int().nullish(),
  min_p: number.nullish(),
  repetition_penalty: number.nullish(),
  presence_penalty: number.min(-2).max(2).nullish(),
  frequency_penalty: number.min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), number).nullish(),
  seed: number.int().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  response_format: responseFormat.nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning_effort: z.string().max(20).nullish(),
  verbosity: z.string().max(20).nullish(),
  prompt_cache_key: z.string().max(200).nullish(),
} as const;

/** Taken, and without effect here. */
const withoutEffect = {
  user: z.string().max(500).nullish(),
  safety_identifier: z.string().max(500).nullish(),
  store: z.boolean().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  service_tier: z.enum(['auto', 'default'], 'only auto and default: other tiers have other prices').nullish(),
  modalities: z.array(z.literal('text', 'only text is supported')).nullish(),
  logprobs: z.literal(false, 'log probabilities are not supported').nullish(),
  top_logprobs: z.literal(0, 'log probabilities are not supported').nullish(),
  prompt_cache_retention: z.string().max(20).nullish(),
  functions: z.null('not supported any more: use tools').optional(),
  function_call: z.null('not supported any more: use tool_choice').optional(),
};

export const chatRequestSchema = z.strictObject({
  model: z.string().min(1).max(200),
  messages: z.array(message).min(1).max(100_000),
  tools: z.array(tool).max(1_000).nullish(),
  n: z.number().int().min(1).max(16).nullish(),
  max_tokens: tokens.nullish(),
  max_completion_tokens: tokens.nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  ...passedOn,
  ...withoutEffect,
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

/** The fields that are passed on, those that are set. Tool fields only beside tools: endpoints refuse them alone. */
export function optionsOf(request: ChatRequest): Record<string, unknown> {
  const hasTools = (request.tools?.length ?? 0) > 0;
  const names = (Object.keys(passedOn) as (keyof typeof passedOn)[]).filter(
    (option) => hasTools || (option !== 'tool_choice' && option !== 'parallel_tool_calls'),
  );
  return Object.fromEntries(names.flatMap((option) => (request[option] == null ? [] : [[option, request[option]]])));
}
