/** `GET /v1/traces`: the runs of the key's app, newest first, in keyset pages. */
import { z } from 'zod';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { listRuns } from '../store/read-runs.ts';
import type { Access } from './access.ts';
import { filterOf, filterShape, formatCursor, parseCursor } from './list-query.ts';
import { tracedRunSchema, viewRun } from './run-view.ts';

const querySchema = z.strictObject({
  ...filterShape,
  cursor: z.string().max(1_000).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

const answerSchema = z.object({
  items: z.array(tracedRunSchema),
  next: z.string().nullable().describe('cursor of the next page; a page may hold fewer runs than asked for and go on'),
});

export function serveListTraces(http: Http, { database, access }: { database: Database; access: Access }): void {
  const schema = { summary: 'Runs, newest first', querystring: querySchema, response: { 200: answerSchema } };
  http.get('/v1/traces', { onRequest: access.readers, schema }, async (request) => {
    const { app, lens } = await access.read(request, { action: 'list' });
    const { cursor, limit, ...query } = request.query;
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const { rows, next } = await listRuns(database, filterOf(app, query), { after, count: limit });
    return { items: rows.map((row) => viewRun(row, lens)), next: next ? formatCursor(next) : null };
  });
}
