/** GET /v1/runs: an app's runs, newest first, in keyset pages. */
import { z } from 'zod';
import { objectNameSchema, RejectedError, runStatusSchema } from '@pawl/contracts';
import type { Authorizer, Http } from '@pawl/service';
import type { RunStore } from '../intake/run-store.ts';
import type { ReadRun } from '../partitions/read-run.ts';

const query = z.strictObject({
  status: runStatusSchema.optional(),
  agent: objectNameSchema.optional(),
  cursor: z.string().max(500).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
const cursorSchema = z.strictObject({ createdAt: z.iso.datetime(), id: z.string() });

export function listRunsRoute(http: Http, using: { authorizer: Authorizer; store: RunStore; readRun: ReadRun }): void {
  http.get('/v1/runs', { schema: { querystring: query } }, async (request) => {
    const { app } = using.authorizer.authorizeApp(request, 'runs:read');
    const { status, agent, cursor, limit } = request.query;
    if (status === 'waiting' || status === 'paused') return { items: [], next: null };
    const isEnded = status === undefined ? undefined : status === 'ended';
    const runs = await using.store.list({ app, agent, isEnded, cursor: cursor ? parseCursor(cursor) : undefined, limit });
    const last = runs.length === limit ? runs.at(-1) : undefined;
    return {
      items: await Promise.all(runs.map((run) => run.view ?? using.readRun.read(app, run.started.runId))),
      next: last ? formatCursor({ createdAt: last.createdAt, id: last.started.runId }) : null,
    };
  });
}

function formatCursor(at: z.infer<typeof cursorSchema>): string {
  return Buffer.from(JSON.stringify(at)).toString('base64url');
}

function parseCursor(text: string): z.infer<typeof cursorSchema> {
  try {
    return cursorSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    throw new RejectedError('invalid_request', 'cursor: take it from "next" of the page before');
  }
}
