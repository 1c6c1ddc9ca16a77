/** What clients send and get on the runs API. */
import { z } from 'zod';
import { agentSpecSchema, limitsSchema, tuningShape } from './agent.ts';
import { objectNameSchema, sha256Schema } from './names.ts';
import { moneyViewSchema } from './money.ts';
import { runUserSchema } from './facts.ts';
import { stopReasonSchema } from './stop-reasons.ts';
import { runStatuses } from './words.ts';

export const createRunSchema = z.strictObject({
  agent: objectNameSchema,
  input: z.string().min(1).max(1_000_000),
  user: runUserSchema.optional(),
  session: z.string().min(1).max(200).optional(),
  limits: limitsSchema.optional(),
  ...tuningShape,
  environment: z.record(z.string().max(200), z.unknown()).optional(),
  metadata: z.record(z.string().max(200), z.string().max(2_000)).optional(),
  lane: z.enum(['interactive', 'batch']).optional(),
});
export type CreateRun = z.infer<typeof createRunSchema>;

export const cancelRunSchema = z.strictObject({ reason: z.string().max(2_000).optional() });

/** A person's decision on a call that waits for one. `argsHash` is that of the arguments that the person was shown. */
export const decideApprovalSchema = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('approve'), argsHash: sha256Schema, reason: z.string().max(2_000).optional() }),
  z.strictObject({ decision: z.literal('deny'), argsHash: sha256Schema, reason: z.string().max(2_000).optional() }),
  z.strictObject({
    decision: z.literal('edit'),
    argsHash: sha256Schema,
    /** An object, or its JSON text where numbers beyond 2^53 have to keep their digits. */
    args: z.union([z.record(z.string(), z.unknown()), z.string().min(1).max(1_000_000)]),
    reason: z.string().max(2_000).optional(),
  }),
]);

/** What is told to a run that is under way: words of a user, or data of the environment, or both. */
export const sendSignalSchema = z
  .strictObject({ text: z.string().min(1).max(100_000).optional(), data: z.unknown().optional() })
  .refine((signal) => signal.text !== undefined || signal.data !== undefined, 'needs text or data');

export const resumeRunSchema = z.strictObject({ limits: limitsSchema.optional() });

export const forkRunSchema = z.strictObject({
  /** The first step that the fork takes itself; those before are taken over. 1 takes over nothing. */
  fromStep: z.number().int().positive(),
  input: z.string().min(1).max(1_000_000).optional(),
  instructions: z.string().min(1).max(200_000).optional(),
  models: agentSpecSchema.shape.models.partial().optional(),
  allowWrites: z.boolean().optional(),
});
export type ForkRun = z.infer<typeof forkRunSchema>;

export const runStatusSchema = z.enum(runStatuses);

export const pendingCallSchema = z.object({
  callId: z.string(),
  tool: z.string(),
  /** The arguments as they would be executed. */
  args: z.unknown(),
  argsHash: z.string(),
  expiresAt: z.string().nullable(),
  /** Why the run waits: the reason of the approval, or the question to the user. */
  why: z.string(),
  kind: z.enum(['approval', 'input']),
});
export type PendingCall = z.infer<typeof pendingCallSchema>;

/** What a run is doing: `recover` is thinking after a step that failed or went in circles, `done` is ended or paused. */
export const runPhaseSchema = z.enum(['think', 'act', 'observe', 'recover', 'waiting', 'done']);
export type RunPhase = z.infer<typeof runPhaseSchema>;

/** Whether a run does nothing until somebody says something, or at all. One with status `waiting` may still have calls under way. */
export function isAtRest({ phase }: { phase: RunPhase }): boolean {
  return phase === 'waiting' || phase === 'done';
}

export const runViewSchema = z.object({
  id: z.string(),
  app: z.string(),
  agent: z.string(),
  revision: z.string(),
  /** `waiting`: a call waits for a person; others may be under way, which `phase` says. */
  status: runStatusSchema,
  phase: runPhaseSchema,
  stopReason: stopReasonSchema.nullable(),
  /** One sentence on why it ended, or null while it runs. */
  detail: z.string().nullable(),
  answer: z.string().nullable(),
  partial: z.boolean(),
  steps: z.number(),
  toolCalls: z.number(),
  tokens: z.number(),
  cost: moneyViewSchema,
  /** The plan of the strategy `plan-execute`, ticked off as far as the run has come. */
  plan: z.array(z.object({ text: z.string(), isDone: z.boolean() })).optional(),
  /** Calls that wait for a person. */
  pending: z.array(pendingCallSchema),
  /** Calls that nobody is asked about any more, since a decision would have no effect, and why. */
  voided: z.array(z.object({ callId: z.string(), tool: z.string(), why: z.string() })).optional(),
  traceId: z.string(),
  /** On a run that has stopped: how long it waited for people, which its wall clock does not count. */
  waitedMs: z.number().nonnegative().optional(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  /** The run that this one answers a call of. */
  parent: z.object({ runId: z.string(), callId: z.string() }).optional(),
  forkOf: z.object({ runId: z.string(), fromStep: z.number() }).optional(),
});
export type RunView = z.infer<typeof runViewSchema>;

export const scopes = [
  '*',
  'runs:write',
  'runs:read',
  'runs:act-as',
  'chat',
  'registry',
  'budgets',
  /** Everything of the app's traces. */
  'traces',
  /** The app's traces without thoughts and raw errors, for who explains runs to people. */
  'traces:explain',
  /** Holds, erasures, settings and the list of reads of the app's traces. */
  'traces:operate',
] as const;
export const scopeSchema = z.enum(scopes);
export type Scope = z.infer<typeof scopeSchema>;

export const createKeySchema = z.strictObject({
  app: objectNameSchema,
  scopes: z.array(scopeSchema).min(1).optional(),
  expiresAt: z.iso.datetime().optional(),
});

/** A key as services know it: never the key itself. */
export const keyRecordSchema = z.object({
  id: z.string(),
  app: objectNameSchema,
  scopes: z.array(scopeSchema),
  expiresAt: z.string().nullable(),
});
export type KeyRecord = z.infer<typeof keyRecordSchema>;
