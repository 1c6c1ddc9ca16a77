/** Agent: a versioned definition of instructions, models, tools and limits. */
import { z } from 'zod';
import { durationSchema, objectNameSchema, toolNameSchema } from './names.ts';
import { moneySchema } from './money.ts';
import { purposes } from './words.ts';

/** What a thought is for. */
export const purposeSchema = z.enum(purposes);
export type Purpose = z.infer<typeof purposeSchema>;

const count = z.number().int().positive().max(1_000_000_000);

/** Caps of one run; every one may be set by the agent and again by the run. */
export const limitsSchema = z.strictObject({
  /** Turns of the loop. Default 10. */
  steps: count.optional(),
  /** Tool calls. Default 20; 0 means that the model has to answer by itself. */
  toolCalls: z.number().int().nonnegative().max(1_000_000).optional(),
  /** From start to end, without the time in which it only waited for people. Default 120s. */
  wallClock: durationSchema.optional(),
  /** Input and output tokens of all model calls. Default 50,000. */
  tokens: count.optional(),
  /** What all model calls may cost. Default 0.40 USD. */
  spend: moneySchema.optional(),
});
export type Limits = z.infer<typeof limitsSchema>;

/** How the loop goes about its task; an agent's numbers may be set again by a run. */
export const tuningShape = {
  guards: z
    .strictObject({
      identicalActions: count.optional(),
      noNewInformation: count.optional(),
      toolFailures: count.optional(),
      /** How often an answer that doesn't fit its schema is asked for again. Default 2. */
      answerRepairs: z.number().int().nonnegative().max(20).optional(),
    })
    .optional(),
  reflection: z.strictObject({ every: count }).optional(),
  compression: z.strictObject({ every: count, tokens: count.optional() }).optional(),
  observation: z
    .strictObject({
      /** Characters of a result that the model sees at once. Default 2,000. */
      maxChars: z.number().int().min(200).max(200_000).optional(),
      analysis: z.boolean().optional(),
    })
    .optional(),
};

/** The texts that the loop itself says to a model. */
export const wordNames = [
  'guided',
  'brief',
  'observationAnalysis',
  'reflection',
  'compression',
  'intervention',
  'recovery',
  'closing',
  'plan',
  'replan',
  'textProtocol',
  'repair',
  'answerFormat',
  'environment',
  'newInput',
  'summary',
  'shortened',
] as const;

export const agentSpecSchema = z.strictObject({
  description: z.string().max(4_000).optional(),
  instructions: z.string().min(1).max(200_000),
  language: z.enum(['en', 'zh', 'pt']).optional(),
  strategy: z.enum(['react', 'plan-execute', 'single-call']).optional(),
  /** Purpose → name of a ModelRoute. `think` also serves every purpose that is not named. */
  models: z.strictObject({
    think: objectNameSchema,
    plan: objectNameSchema.optional(),
    reflect: objectNameSchema.optional(),
    summarize: objectNameSchema.optional(),
    conclude: objectNameSchema.optional(),
  }),
  tools: z.array(toolNameSchema).max(500).optional(),
  stages: z
    .array(
      z.strictObject({
        name: objectNameSchema,
        tools: z.array(toolNameSchema).max(500),
        enterWhen: z.string().max(2_000).optional(),
      }),
    )
    .max(20)
    .optional(),
  limits: limitsSchema.optional(),
  guards: tuningShape.guards,
  thoughts: z.enum(['guided', 'brief', 'hidden']).optional(),
  reflection: tuningShape.reflection,
  compression: tuningShape.compression,
  observation: tuningShape.observation,
  approvals: z
    .array(
      z.strictObject({
        tool: toolNameSchema,
        when: z.string().max(2_000).optional(),
        expiresIn: durationSchema.optional(),
      }),
    )
    .max(100)
    .optional(),
  answer: z.strictObject({ schema: z.record(z.string(), z.unknown()) }).optional(),
  policies: z
    .strictObject({
      /** Whether calls of writing tools need approval once the run has read untrusted data. Default false. */
      approveWritesWhenTainted: z.boolean().optional(),
    })
    .optional(),
  /** `text`: for models without tool calling, a strict Thought / Action / Final Answer protocol. Default `native`. */
  toolCalling: z.enum(['native', 'text']).optional(),
  /** The loop's own words to the model, each replaced by the agent's. */
  words: z.partialRecord(z.enum(wordNames), z.string().max(20_000)).optional(),
  webhooks: z
    .strictObject({
      /** Told when a run begins to wait for a person. */
      waiting: z.strictObject({
        url: z.url({ protocol: /^https?$/ }),
        /** Signs the request (Standard Webhooks); may hold `${secret:NAME}`. */
        secret: z.string().max(2_000).optional(),
      }),
    })
    .optional(),
});
export type AgentSpec = z.infer<typeof agentSpecSchema>;
