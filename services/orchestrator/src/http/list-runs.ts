/** GET /v1/runs: an app's runs, newest first, in keyset pages; a page filtered by status may hold fewer than its limit. */
import { z } from 'zod';
import { objectNameSchema, RejectedError, runStatusSchema } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import type { RunStore } from '../intake/run-store.ts';
import type { ReadRun } from '../partitions/read-run.ts';

const query = z.strictObject({
  status: runStatusSchema.optional(),
  agent: objectNameSchema.optional(),
  cursor: z.string().max(500).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
/** Years that Postgres knows. */
const timeSchema = z.iso.datetime().refine((text) => !text.startsWith('0000'));
const cursorSchema = z.strictObject({ createdAt: timeSchema, id: z.string() });

export function listRunsRoute(http: Http, using: { authorizer: Authorizer; store: RunStore; readRun: ReadRun }): void {
  const onRequest = guardApp(using.authorizer, 'runs:read');
  http.get('/v1/runs', { onRequest, schema: { querystring: query } }, async (request) => {
    const { app } = using.authorizer.authorizeApp(request, 'runs:read');
    const { status, agent, cursor, limit } = request.query;
    const stored = status === 'running' || status === 'waiting' ? 'open' : status;
    const behind = cursor ? parseCursor(cursor) : undefined;
    const runs = await using.store.list({ app, agent, status: stored, cursor: behind, limit });
    const last = runs.length === limit ? runs.at(-1) : undefined;
    const views = await Promise.all(
      runs.map(async (run) => run.view ?? (await using.readRun.read(app, run.started.runId))),
    );
    return {
      items: views.filter((view) => status === undefined || view.status === status),
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
