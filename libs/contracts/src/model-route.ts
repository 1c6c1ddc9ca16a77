/** ModelRoute: where the model calls of a purpose may go, and at what price. */
import { z } from 'zod';
import { objectNameSchema, timeoutSchema } from './names.ts';
import { currencySchema, decimalSchema } from './money.ts';

/** A price per million tokens, as decimal text. Cached and reasoning tokens cost like the rest where no price is given. */
export const priceSchema = z.strictObject({
  currency: currencySchema,
  inputPerMillion: decimalSchema,
  outputPerMillion: decimalSchema,
  cachedInputPerMillion: decimalSchema.optional(),
  cacheWritePerMillion: decimalSchema.optional(),
  reasoningPerMillion: decimalSchema.optional(),
});
export type Price = z.infer<typeof priceSchema>;

export const candidateSchema = z.strictObject({
  /** The provider's name as the price table and the spans have it, for example `openai`; `sim` for the scripted model. */
  provider: z.string().min(1).max(100),
  model: z.string().min(1).max(200),
  /** Root of an OpenAI-compatible API, `/v1` included. Default: OpenAI's own. */
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  /** May hold `${secret:NAME}`. */
  apiKey: z.string().max(2_000).optional(),
  region: z.string().max(100).optional(),
  dataClasses: z.array(objectNameSchema).max(50).optional(),
  weight: z.number().int().nonnegative().max(1_000).optional(),
  priority: z.number().int().nonnegative().max(1_000).optional(),
  price: priceSchema.optional(),
});
export type Candidate = z.infer<typeof candidateSchema>;

export const modelRouteSpecSchema = z.strictObject({
  candidates: z.array(candidateSchema).min(1).max(20),
  retry: z.strictObject({ max: z.number().int().min(0).max(5) }).optional(),
  timeouts: z
    .strictObject({
      connect: timeoutSchema.optional(),
      headers: timeoutSchema.optional(),
      firstToken: timeoutSchema.optional(),
      idle: timeoutSchema.optional(),
      total: timeoutSchema.optional(),
    })
    .optional(),
});
export type ModelRouteSpec = z.infer<typeof modelRouteSpecSchema>;
