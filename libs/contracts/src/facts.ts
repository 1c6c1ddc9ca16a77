/**
 * Facts: the immutable events of a run's log, one per slot (I1). Deltas, never the whole conversation.
 * Readers ignore fields that they don't know; a field's meaning never changes within a version.
 */
import { z } from 'zod';
import { purposeSchema } from './agent.ts';
import { isoTimeSchema, objectNameSchema, runIdSchema, sha256Schema, signalIdSchema, toolNameSchema } from './names.ts';
import { nanoUsdSchema } from './money.ts';
import { observationSchema, trustSchema } from './observation.ts';
import { spendingRunSchema } from './spending.ts';
import { stopReasonSchema } from './stop-reasons.ts';
import { usageSchema } from './usage.ts';

const index = z.number().int().nonnegative();
const base = { v: z.literal(1), runId: runIdSchema, app: objectNameSchema, at: isoTimeSchema };

/** The user on whose behalf a run acts, as a request names it. */
export const runUserSchema = z.strictObject({
  id: z.string().min(1).max(200),
  roles: z.array(z.string().min(1).max(100)).max(100).optional(),
});
export type RunUser = z.infer<typeof runUserSchema>;

/** The same user in facts and work, whose readers ignore fields that they don't know. */
export const actingUserSchema = z.object(runUserSchema.shape);

/** Limits with every number settled. */
export const settledLimitsSchema = z.object({
  steps: index,
  toolCalls: index,
  wallClockMs: index,
  tokens: index,
  spendNanoUsd: nanoUsdSchema,
});
export type SettledLimits = z.infer<typeof settledLimitsSchema>;

/** A tool call as the model asked for it: `args` is the model's own text, JSON or not. */
export const toolCallSchema = z.object({ id: z.string(), tool: z.string(), args: z.string() });
export type ToolCall = z.infer<typeof toolCallSchema>;

const modelCallSchema = z.object({
  provider: z.string(),
  model: z.string(),
  region: z.string().optional(),
  /** Why this endpoint was chosen, in words. */
  routeReason: z.string(),
  responseId: z.string().optional(),
});

export const thoughtSchema = z.object({
  ...base,
  kind: z.literal('thought'),
  m: index,
  purpose: purposeSchema,
  /** On a closing call (purpose `conclude`): why the run is being closed, as the work said. */
  closing: stopReasonSchema.optional(),
  /** How many of the run's signals its prompt held. */
  signalsSeen: index.optional(),
  /** `failed`: no answer came, `error` says why; money may have been spent all the same. */
  outcome: z.enum(['reply', 'failed']),
  text: z.string(),
  calls: z.array(toolCallSchema),
  /** The provider's own word for why it ended, for example `stop`, `tool_calls`, `length`. */
  finishReason: z.string().optional(),
  /** What the run had too little of for the whole reply, so that it broke off. */
  cutBy: z.enum(['spend', 'tokens']).optional(),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      /** On `budget_exceeded`: input tokens, by the bound of `inputTokensMax`, that a closing call may have. */
      closingTokens: index.optional(),
    })
    .optional(),
  route: modelCallSchema.optional(),
  usage: usageSchema,
  costNanoUsd: nanoUsdSchema,
  /** Whether usage and cost were measured by the provider or estimated here. */
  costBasis: z.enum(['measured', 'estimated']),
  startedAt: isoTimeSchema,
  durationMs: z.number().nonnegative(),
  firstTokenMs: z.number().nonnegative().optional(),
});
export type Thought = z.infer<typeof thoughtSchema>;

export const actedCallSchema = z.object({
  i: index,
  callId: z.string(),
  tool: z.string(),
  toolRevision: sha256Schema.optional(),
  args: z.string(),
  /** Hash of the canonical arguments; absent where the text is not JSON. */
  argsHash: sha256Schema.optional(),
  /**
   * `run`: sent to a tool-runner. `answered`: the orchestrator itself writes the observation. `approval`: waits for a person's
   * decision. `input`: waits for a person's answer. `subrun`: another run answers it.
   */
  admission: z.enum(['run', 'answered', 'approval', 'input', 'subrun']),
  /** For `approval`: why it is asked for, and when it is too late. */
  why: z.string().optional(),
  expiresAt: isoTimeSchema.optional(),
});
export type ActedCall = z.infer<typeof actedCallSchema>;

export const actedSchema = z.object({
  ...base,
  kind: z.literal('acted'),
  m: index,
  step: index,
  calls: z.array(actedCallSchema).min(1),
});
export type Acted = z.infer<typeof actedSchema>;

export const observedSchema = z.object({
  ...base,
  kind: z.literal('observed'),
  m: index,
  i: index,
  callId: z.string(),
  tool: z.string(),
  trust: trustSchema,
  observation: observationSchema,
  /** The raw error text, for engineers; never shown to the model. */
  rawError: z.string().optional(),
  attempt: z.number().int().positive(),
  startedAt: isoTimeSchema,
  durationMs: z.number().nonnegative(),
  /** What the sub-run that answered the call has used. */
  spent: z
    .object({
      tokens: index,
      costNanoUsd: nanoUsdSchema,
      /** How long it waited for people. */
      waitedMs: z.number().nonnegative().optional(),
    })
    .optional(),
});
export type Observed = z.infer<typeof observedSchema>;

export const approvalSchema = z.object({
  ...base,
  kind: z.literal('approval'),
  m: index,
  i: index,
  callId: z.string(),
  decision: z.enum(['approve', 'deny', 'edit', 'expire']),
  toolRevision: sha256Schema,
  argsHash: sha256Schema,
  args: z.string().optional(),
  reason: z.string().optional(),
  by: z.string(),
});
export type Approval = z.infer<typeof approvalSchema>;

export const signalSchema = z.object({
  ...base,
  kind: z.literal('signal'),
  id: signalIdSchema,
  text: z.string().optional(),
  /** JSON text. */
  data: z.string().optional(),
  by: z.string(),
});

export type Signal = z.infer<typeof signalSchema>;

export const startedSchema = z.object({
  ...base,
  kind: z.literal('started'),
  agent: z.object({ name: objectNameSchema, revision: sha256Schema }),
  /** Hash of the pinned definition. */
  definition: sha256Schema,
  input: z.string(),
  user: actingUserSchema.optional(),
  /** The key that it was started with: limits of that key count its model calls. */
  keyId: z.string().optional(),
  session: z.string().optional(),
  environment: z.record(z.string(), z.unknown()).optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  lane: z.enum(['interactive', 'batch']),
  limits: settledLimitsSchema,
  /** When the wall clock runs out, times of waiting for humans not counted. */
  deadlineAt: isoTimeSchema,
  /** Earlier questions of the session with their answers, oldest first. */
  history: z.array(z.object({ input: z.string(), answer: z.string() })).optional(),
  /** The call of another run that this run answers. */
  parent: z
    .object({
      runId: runIdSchema,
      m: index,
      i: index,
      tool: toolNameSchema.optional(),
      /** Characters of the answer that the other run's model sees at once. */
      maxChars: z.number().int().positive().optional(),
    })
    .optional(),
  /** Runs above this one, nearest first, each with what it may spend in all: money of this run is theirs, too. */
  ancestors: z.array(spendingRunSchema).optional(),
  /** Classes of data that what this run was asked belongs to. */
  dataClasses: z.array(objectNameSchema).optional(),
  /** Whether what this run was asked comes out of untrusted data. */
  isTainted: z.boolean().optional(),
  /** The run and the step at which this run goes its own way. */
  forkOf: z.object({ runId: runIdSchema, fromStep: index }).optional(),
  /** What a fork takes over of the run it comes from; neither paid nor done again. */
  seed: z
    .array(z.discriminatedUnion('kind', [thoughtSchema, actedSchema, observedSchema, approvalSchema, signalSchema]))
    .optional(),
  /** Whether calls of writing tools are denied. */
  areWritesBlocked: z.boolean().optional(),
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  /** The span of the request that asked for the run, where it brought one. */
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
});
export type Started = z.infer<typeof startedSchema>;

export const cancelSchema = z.object({
  ...base,
  kind: z.literal('cancel'),
  reason: z.string().optional(),
  by: z.string(),
});
export type Cancel = z.infer<typeof cancelSchema>;

/** How a run stands when it stops, for good or until it is given more. */
const outcomeShape = {
  stopReason: stopReasonSchema,
  /** The final answer, or the best one so far. */
  answer: z.string().nullable(),
  /** Whether `answer` is less than what was asked for. */
  partial: z.boolean(),
  /** One sentence on why it stopped, for people. */
  detail: z.string(),
  steps: index,
  toolCalls: index,
  tokens: index,
  costNanoUsd: nanoUsdSchema,
  durationMs: z.number().nonnegative(),
};

/** The run stopped at a limit and may be resumed with more. */
export const pausedSchema = z.object({ ...base, kind: z.literal('paused'), k: index, ...outcomeShape });
export type Paused = z.infer<typeof pausedSchema>;

export const resumedSchema = z.object({
  ...base,
  kind: z.literal('resumed'),
  k: index,
  limits: settledLimitsSchema,
  deadlineAt: isoTimeSchema,
  by: z.string(),
});
export type Resumed = z.infer<typeof resumedSchema>;

export const endedSchema = z.object({ ...base, kind: z.literal('ended'), ...outcomeShape });
export type Ended = z.infer<typeof endedSchema>;

export const factSchema = z.discriminatedUnion('kind', [
  startedSchema,
  thoughtSchema,
  actedSchema,
  observedSchema,
  approvalSchema,
  signalSchema,
  cancelSchema,
  pausedSchema,
  resumedSchema,
  endedSchema,
]);
export type Fact = z.infer<typeof factSchema>;
export type FactKind = Fact['kind'];

/** The write-once address of a fact within its run. */
export function slotOf(fact: Fact): string {
  switch (fact.kind) {
    case 'started':
    case 'cancel':
    case 'ended':
      return fact.kind;
    case 'thought':
    case 'acted':
      return `${fact.kind}.${fact.m}`;
    case 'observed':
    case 'approval':
      return `${fact.kind}.${fact.m}.${fact.i}`;
    case 'signal':
      return `signal.${fact.id}`;
    case 'paused':
    case 'resumed':
      return `${fact.kind}.${fact.k}`;
  }
}
