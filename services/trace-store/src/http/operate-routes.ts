/**
 * What operators of the store do for an app: `GET/PUT /v1/traces/settings`, `…/holds`, `…/erasures`, `GET …/reads`.
 * The words of users are never shown here.
 */
import { z } from 'zod';
import { objectNameSchema, RejectedError, runIdSchema } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { readErasures, requestErasure, type ErasureRow } from '../store/erasures.ts';
import { addHold, liftHold, listHolds, type HoldRow } from '../store/holds.ts';
import type { Access } from './access.ts';
import type { Reads } from './reads.ts';

export type OperateRoutes = {
  database: Database;
  access: Access;
  reads: Reads;
  /** Goes on with erasures at once. */
  onErasure(): void;
};

const appQuery = z.object({ app: objectNameSchema.optional().describe('with the admin key: which app') });
const plainText = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => !text.includes('\u0000') && text.isWellFormed());
const idParams = z.object({ id: z.string().regex(/^[a-z0-9_-]{1,80}$/) });

const holdSchema = z.object({
  id: z.string(),
  runId: z.string().nullable(),
  user: z.string().nullable(),
  reason: z.string(),
  by: z.string(),
  at: z.string(),
});
const newHold = z.strictObject({
  runId: runIdSchema.optional(),
  user: plainText(200).optional(),
  reason: plainText(2_000),
});

const erasureSchema = z.object({
  id: z.string(),
  userSha256: z.string(),
  status: z.enum(['running', 'held', 'finished']),
  requestedBy: z.string(),
  requestedAt: z.string(),
  finishedAt: z.string().nullable(),
  runsErased: z.number(),
  recordsErased: z.number(),
  runsHeld: z.number().describe('under legal hold: erased once the hold is lifted'),
  runsActive: z.number().describe('not ended yet: erased once they are'),
  proof: z.unknown().describe('hash of the ids of the erased runs, and what was found of them afterwards'),
});

export function serveOperateRoutes(http: Http, routes: OperateRoutes): void {
  serveHolds(http, routes);
  serveErasures(http, routes);
  serveReads(http, routes);
}

function serveHolds(http: Http, { database, access }: OperateRoutes): void {
  const shown = { querystring: appQuery, response: { 200: z.object({ items: z.array(holdSchema) }) } };
  http.get(
    '/v1/traces/holds',
    { onRequest: access.operators, schema: { summary: 'Legal holds', ...shown } },
    async (request) => {
      const { app } = access.operate(request);
      return { items: (await listHolds(database, app)).map(viewHold) };
    },
  );
  const added = { querystring: appQuery, body: newHold, response: { 201: holdSchema } };
  const summary = 'Hold a run, all runs of a user, or all runs of the app: they are neither dropped nor erased';
  http.post(
    '/v1/traces/holds',
    { onRequest: access.operators, schema: { summary, ...added } },
    async (request, reply) => {
      const { app, by } = access.operate(request);
      const { runId = null, user = null, reason } = request.body;
      return reply.code(201).send(viewHold(await addHold(database, { app, runId, userId: user, reason, by })));
    },
  );
  const lifted = { querystring: appQuery, params: idParams };
  http.delete(
    '/v1/traces/holds/:id',
    { onRequest: access.operators, schema: { summary: 'Lift a hold', ...lifted } },
    async (request, reply) => {
      const { app } = access.operate(request);
      if (await liftHold(database, app, request.params.id)) return reply.code(204).send();
      throw new RejectedError('not_found', 'the app has no such hold');
    },
  );
}

function serveErasures(http: Http, { database, access, onErasure }: OperateRoutes): void {
  const asked = {
    querystring: appQuery,
    body: z.strictObject({ user: plainText(200) }),
    response: { 202: erasureSchema },
  };
  const summary = 'Erase every run of a user from the store and the run log. Safe to repeat';
  http.post(
    '/v1/traces/erasures',
    { onRequest: access.operators, schema: { summary, ...asked } },
    async (request, reply) => {
      const { app, by } = access.operate(request);
      const id = await requestErasure(database, { app, userId: request.body.user, requestedBy: by });
      onErasure();
      return reply.code(202).send(await viewErasureOf(database, app, id));
    },
  );
  const one = { querystring: appQuery, params: idParams, response: { 200: erasureSchema } };
  http.get(
    '/v1/traces/erasures/:id',
    { onRequest: access.operators, schema: { summary: 'How far an erasure is', ...one } },
    async (request) => viewErasureOf(database, access.operate(request).app, request.params.id),
  );
  const all = { querystring: appQuery, response: { 200: z.object({ items: z.array(erasureSchema) }) } };
  http.get(
    '/v1/traces/erasures',
    { onRequest: access.operators, schema: { summary: 'Erasures', ...all } },
    async (request) => ({
      items: (await readErasures(database, access.operate(request).app)).map(viewErasure),
    }),
  );
}

const readsQuery = appQuery.extend({
  before: z.iso.datetime().optional(),
  runId: runIdSchema.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
});
const readSchema = z.object({
  minute: z.string(),
  keyId: z.string(),
  action: z.string(),
  runId: z.string().nullable(),
  detail: z.string(),
  count: z.number(),
});

function serveReads(http: Http, { access, reads }: OperateRoutes): void {
  const schema = {
    summary: 'Who read what, newest first',
    querystring: readsQuery,
    response: { 200: z.object({ items: z.array(readSchema) }) },
  };
  http.get('/v1/traces/reads', { onRequest: access.operators, schema }, async (request) => {
    const { app } = access.operate(request);
    const { before, runId, limit } = request.query;
    const rows = await reads.list(app, { before, runId, count: limit });
    const items = rows.map((row) => ({
      minute: row.minute.toISOString(),
      keyId: row.key_id,
      action: row.action,
      runId: row.run_id === '' ? null : row.run_id,
      detail: row.detail,
      count: Number(row.count),
    }));
    return { items };
  });
}

function viewHold({ id, run_id, user_id, reason, by, at }: HoldRow): z.infer<typeof holdSchema> {
  return { id, runId: run_id, user: user_id, reason, by, at: at.toISOString() };
}

async function viewErasureOf(database: Database, app: string, id: string): Promise<z.infer<typeof erasureSchema>> {
  const [row] = await readErasures(database, app, id);
  if (!row) throw new RejectedError('not_found', 'the app has no such erasure');
  return viewErasure(row);
}

function viewErasure(row: ErasureRow): z.infer<typeof erasureSchema> {
  const isOnlyHeld = Number(row.runs_held) > 0 && row.runs_active === '0';
  return {
    id: row.id,
    userSha256: row.user_sha256,
    status: row.finished_at ? 'finished' : isOnlyHeld ? 'held' : 'running',
    requestedBy: row.requested_by,
    requestedAt: row.requested_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    runsErased: Number(row.runs_erased),
    recordsErased: Number(row.records_erased),
    runsHeld: Number(row.runs_held),
    runsActive: Number(row.runs_active),
    proof: row.proof === null ? null : (JSON.parse(row.proof) as unknown),
  };
}
