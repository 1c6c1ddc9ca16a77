/** ModelRoute: where the model calls of a purpose may go, and at what price. */
import { z } from 'zod';
import { durationSchema, objectNameSchema, timeoutSchema } from './names.ts';
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
  /** May hold `${secret:NAME}`: the gateway's variable `PAWL_SECRET_<APP>_NAME`, else `PAWL_SECRET_NAME`. */
  apiKey: z.string().max(2_000).optional(),
  /** The protocol that it speaks. Default: `anthropic` for the provider of that name, else `openai`. */
  api: z.enum(['openai', 'anthropic']).optional(),
  region: z.string().max(100).optional(),
  /** Classes of data that may be sent there. A call whose run has touched data of another class goes elsewhere or nowhere. */
  /** Classes of data that may go here. Once one candidate of a route names any, the others get no data of any class that they do not name. */
  dataClasses: z.array(objectNameSchema).max(50).optional(),
  /** What the model can do; what is not said here it is believed to be able to. */
  capabilities: z
    .strictObject({
      tools: z.boolean().optional(),
      jsonSchema: z.boolean().optional(),
      images: z.boolean().optional(),
      /** Input and output tokens that fit into one call. */
      contextTokens: z.number().int().positive().max(100_000_000).optional(),
    })
    .optional(),
  /** Its share among candidates of the same priority; 0 takes part only when others fail. Without weights the listed order counts. */
  weight: z.number().int().nonnegative().max(1_000).optional(),
  /** Lower numbers first. Default 0. */
  priority: z.number().int().nonnegative().max(1_000).optional(),
  price: priceSchema.optional(),
});
export type Candidate = z.infer<typeof candidateSchema>;

/** Why a call may be sent on to another candidate. */
export const fallbackCauses = [
  'rate_limited',
  'unavailable',
  'timeout',
  'broken',
  'context_length',
  'refused',
] as const;
export type FallbackCause = (typeof fallbackCauses)[number];

export const modelRouteSpecSchema = z.strictObject({
  candidates: z.array(candidateSchema).min(1).max(20),
  /**
   * Whether the very same request of an app and user, without tools and with temperature 0, gets the same answer again, and for
   * how long. Default: never.
   */
  cache: z.strictObject({ ttl: durationSchema }).optional(),
  /** How candidates of the same priority are ordered. Default `weighted`. */
  strategy: z.enum(['weighted', 'cheapest', 'fastest']).optional(),
  /** Further attempts after the first, on this and on other candidates together. Default 1, or one for each other candidate. */
  retry: z.strictObject({ max: z.number().int().min(0).max(5) }).optional(),
  /** What sends a call on to the next candidate, before the first word of the reply only. Default: all but `refused`. */
  fallback: z.strictObject({ on: z.array(z.enum(fallbackCauses)).max(fallbackCauses.length) }).optional(),
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
