/** Work: messages that ask a service to do something; deleted once acknowledged. */
import { z } from 'zod';
import { purposeSchema } from './agent.ts';
import { isoTimeSchema, objectNameSchema, runIdSchema, sha256Schema, toolNameSchema } from './names.ts';
import { nanoUsdSchema } from './money.ts';
import { actingUserSchema } from './facts.ts';
import { reserveSchema, spendingRunSchema } from './spending.ts';
import { stopReasonSchema } from './stop-reasons.ts';

const index = z.number().int().nonnegative();
const base = { v: z.literal(1), runId: runIdSchema, app: objectNameSchema };

/** A message of the conversation in the shape of OpenAI's chat completions. */
export const chatMessageSchema = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    tool_calls: z
      .array(
        z.object({
          id: z.string(),
          type: z.literal('function'),
          function: z.object({ name: z.string(), arguments: z.string() }),
        }),
      )
      .optional(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
]);
export type ChatMessage = z.infer<typeof chatMessageSchema>;

export const offeredToolSchema = z.object({
  name: toolNameSchema,
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});
export type OfferedTool = z.infer<typeof offeredToolSchema>;

export const thinkWorkSchema = z.object({
  ...base,
  kind: z.literal('think'),
  m: index,
  agent: objectNameSchema,
  purpose: purposeSchema,
  /** On a closing call: why the run is being closed. It is repeated on the thought. */
  closing: stopReasonSchema.optional(),
  /** How many of the run's signals the messages hold. It is repeated on the thought. */
  signalsSeen: index.optional(),
  user: actingUserSchema.optional(),
  /** The key that the run was started with. */
  keyId: z.string().optional(),
  lane: z.enum(['interactive', 'batch']),
  /** Name of the ModelRoute. */
  route: objectNameSchema,
  messages: z.array(chatMessageSchema).min(1),
  tools: z.array(offeredToolSchema),
  /** Output tokens at the most; the provider gets this as its limit. */
  maxOutputTokens: z.number().int().positive(),
  /** Fewer output tokens than this are not worth the call. Default 64. */
  minOutputTokens: z.number().int().positive().optional(),
  /** Whether the run has fewer output tokens left than such a call usually gets. */
  isOutputShort: z.boolean().optional(),
  /** What the run's budget may reach with this call: the run's limit, less the reserve for the closing call. */
  runSpendLimitNanoUsd: nanoUsdSchema,
  /** The call that closes the run, for which this one leaves room; absent on that call itself. */
  reserve: reserveSchema.optional(),
  /** Runs above this one, nearest first; every one has to have room for the call. */
  ancestors: z.array(spendingRunSchema).optional(),
  /** Whether the words beside tool calls are neither streamed nor kept. */
  areThoughtsHidden: z.boolean().optional(),
  /** Classes of the data that the run has touched: only endpoints that are allowed for all of them are asked. */
  dataClasses: z.array(objectNameSchema).max(50).optional(),
  /** JSON Schema that the text of the reply has to fit, for endpoints that can hold a model to it. */
  answerSchema: z.record(z.string(), z.unknown()).optional(),
  deadlineAt: isoTimeSchema,
});
export type ThinkWork = z.infer<typeof thinkWorkSchema>;

export const actWorkSchema = z.object({
  ...base,
  kind: z.literal('act'),
  m: index,
  i: index,
  step: index,
  callId: z.string(),
  pool: objectNameSchema,
  tool: toolNameSchema,
  toolRevision: sha256Schema,
  /** Hash of the pinned definition, which holds the tool. */
  definition: sha256Schema,
  args: z.string(),
  argsHash: sha256Schema,
  /** Characters of the result that the model sees at once. */
  maxChars: z.number().int().positive(),
  user: actingUserSchema.optional(),
  deadlineAt: isoTimeSchema,
});
export type ActWork = z.infer<typeof actWorkSchema>;

export const workSchema = z.discriminatedUnion('kind', [thinkWorkSchema, actWorkSchema]);
export type Work = z.infer<typeof workSchema>;

/** A piece of a thought while it is spoken. Never stored, never decides anything. */
export const deltaSchema = z.object({ v: z.literal(1), kind: z.literal('delta'), m: index, text: z.string() });
export type Delta = z.infer<typeof deltaSchema>;
