/** What clients send and get on the runs API. */
import { z } from 'zod';
import { limitsSchema } from './agent.ts';
import { objectNameSchema } from './names.ts';
import { moneyViewSchema } from './money.ts';
import { runUserSchema } from './facts.ts';
import { stopReasonSchema } from './stop-reasons.ts';

export const createRunSchema = z.strictObject({
  agent: objectNameSchema,
  input: z.string().min(1).max(1_000_000),
  user: runUserSchema.optional(),
  session: z.string().min(1).max(200).optional(),
  limits: limitsSchema.optional(),
  environment: z.record(z.string().max(200), z.unknown()).optional(),
  metadata: z.record(z.string().max(200), z.string().max(2_000)).optional(),
  lane: z.enum(['interactive', 'batch']).optional(),
});
export type CreateRun = z.infer<typeof createRunSchema>;

export const cancelRunSchema = z.strictObject({ reason: z.string().max(2_000).optional() });

export const runStatusSchema = z.enum(['running', 'waiting', 'paused', 'ended']);

export const runViewSchema = z.object({
  id: z.string(),
  app: z.string(),
  agent: z.string(),
  revision: z.string(),
  status: runStatusSchema,
  stopReason: stopReasonSchema.nullable(),
  /** One sentence on why it ended, or null while it runs. */
  detail: z.string().nullable(),
  answer: z.string().nullable(),
  partial: z.boolean(),
  steps: z.number(),
  toolCalls: z.number(),
  tokens: z.number(),
  cost: moneyViewSchema,
  pending: z.array(z.unknown()),
  traceId: z.string(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
});
export type RunView = z.infer<typeof runViewSchema>;

export const scopes = ['*', 'runs:write', 'runs:read', 'runs:act-as', 'chat', 'registry', 'budgets', 'traces'] as const;
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
