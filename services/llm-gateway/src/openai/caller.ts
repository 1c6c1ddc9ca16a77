/** Who calls the OpenAI-compatible API, for whom, and under which address the call is settled. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { runIdSchema, sha256 } from '@pawl/contracts';
import { actingUser, type Authorizer } from '@pawl/service';
import { newTraceContext, parseTraceparent, type TraceContext } from '@pawl/telemetry';
import { OpenAiError } from './openai-errors.ts';

export type HttpCaller = {
  app: string;
  keyId: string;
  /** Of the token, or from `x-pawl-user`: whose budgets count. */
  userId?: string | undefined;
  /** From `x-pawl-run`: the run that the call is made for. It names the run in the books, and its limits bind the call. */
  forRunId?: string | undefined;
  /** From `Idempotency-Key`. */
  idempotencyKey?: string | undefined;
  trace: TraceContext;
};

const headersSchema = z.object({
  'x-pawl-user': z.string().min(1).max(200).optional(),
  'x-pawl-run': runIdSchema.optional(),
  'idempotency-key': z.string().min(1).max(255).optional(),
  traceparent: z.string().optional(),
});

/** Throws `RejectedError` without the scope `chat`, or for a user that is not the caller's to name; `OpenAiError` for headers that make no sense. */
export function callerOf(request: FastifyRequest, authorizer: Authorizer): HttpCaller {
  const caller = authorizer.authorizeApp(request, 'chat');
  const parsed = headersSchema.safeParse(request.headers);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const header = String(issue?.path[0] ?? 'headers');
    throw new OpenAiError({ code: 'invalid_request', message: `${header}: ${issue?.message}` }, header);
  }
  const { data } = parsed;
  const named = data['x-pawl-user'];
  return {
    app: caller.app,
    keyId: caller.keyId,
    userId: actingUser(caller, named === undefined ? undefined : { id: named })?.id,
    forRunId: data['x-pawl-run'],
    idempotencyKey: data['idempotency-key'],
    trace: parseTraceparent(data.traceparent) ?? newTraceContext(),
  };
}

/** The id of a call: a new one, or the same one again for the same key of the same app. `kind` says of which API. */
export function callIdOf({ app, idempotencyKey }: HttpCaller, kind: string): string {
  if (idempotencyKey === undefined) return `${kind}_${randomUUID().replaceAll('-', '')}`;
  return `${kind}_${sha256(JSON.stringify([app, idempotencyKey])).slice(0, 32)}`;
}
