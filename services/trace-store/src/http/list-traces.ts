/** `GET /v1/traces`: the runs of the key's app, newest first, in keyset pages. */
import { z } from 'zod';
import { objectNameSchema, RejectedError, runStatusSchema, stopReasonSchema } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Authorizer, Http } from '@pawl/service';
import { listRuns, type ListPlace } from '../store/read-runs.ts';
import { viewRun } from './run-view.ts';

const querySchema = z.strictObject({
  agent: objectNameSchema.optional(),
  status: runStatusSchema.optional(),
  stopReason: stopReasonSchema.optional(),
  cursor: z.string().max(1_000).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

const placeSchema = z.tuple([z.iso.datetime(), z.string().regex(/^[A-Za-z0-9_-]{1,200}$/)]);

export function serveListTraces(
  http: Http,
  { database, authorizeApp }: { database: Database; authorizeApp: Authorizer['authorizeApp'] },
): void {
  http.get('/v1/traces', { schema: { querystring: querySchema } }, async (request) => {
    const { app } = authorizeApp(request, 'traces');
    const { cursor, limit, ...filter } = request.query;
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const rows = await listRuns(database, { app, ...filter }, { after, count: limit + 1 });
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    const next = last ? formatCursor({ listedAt: last.listed_at.toISOString(), runId: last.run_id }) : null;
    return { items: shown.map(viewRun), next };
  });
}

function formatCursor({ listedAt, runId }: ListPlace): string {
  return Buffer.from(JSON.stringify([listedAt, runId])).toString('base64url');
}

function parseCursor(cursor: string): ListPlace {
  try {
    const [listedAt, runId] = placeSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return { listedAt, runId };
  } catch {
    throw new RejectedError('invalid_request', 'cursor: use the value of `next` of the page before');
  }
}
